package cli_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/peer/terminaltest"
)

// A person who does not accept a server of a catalogue, in whatever way, has the app file as it was, or none.
func TestInstallNotAccepted(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	const servers = `[{"name":"io.example/notes","version":"1","remotes":[{"type":"sse","url":"http://127.0.0.1:1/"}]}]`
	for name, typed := range map[string]string{"a wrong code": "no\n", "the end of the input": "\x04"} {
		for _, before := range []string{"", "app: {app_id: shop}\n"} {
			folder := t.TempDir()
			file := filepath.Join(folder, "callgate.yaml")
			err := os.WriteFile(filepath.Join(folder, "servers.json"), []byte(servers), 0o600)
			if before != "" {
				err = errors.Join(err, os.WriteFile(file, []byte(before), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			p := terminaltest.Run(t, terminaltest.Program{
				Args: []string{"callgate", "mcp", "install", "notes", "--catalog", "servers.json"}, Dir: folder,
				Env:   []string{"CALLGATE_STATE=" + state, "NO_COLOR=1", "GORACE=" + quickRace, "CALLGATE_TOKEN="},
				Types: []terminaltest.Typing{{Sees: `type (\w{4}) `, Text: typed}},
			})
			text, err := os.ReadFile(file)
			if p.Exit == 0 || string(text) != before || errors.Is(err, fs.ErrNotExist) != (before == "") {
				t.Errorf("%s, before %q: exit %d, the file is %q, %v\n%s%s", name, before, p.Exit, text, err, p.Err, p.Screen)
			}
		}
	}
}
