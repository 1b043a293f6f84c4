package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
)

// What a client measures against is the window that the conversation is kept within: the
// app's, where it says one.
func TestClientIsToldTheAppsWindow(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]int{"": 128_000, "context: {max_tokens: 9000}, ": 9000} {
		state, folder := t.TempDir(), agentFolder(t, "default_policy: auto", kerneltest.Answer{Text: "hello"})
		file := filepath.Join(folder, "callgate.yaml")
		app, err := os.ReadFile(file)
		ok(t, err)
		ok(t, os.WriteFile(file, []byte(strings.Replace(string(app), "runtime: {", "runtime: {"+limit, 1)), 0o644))
		d := serveAccepted(t, state, folder)
		talk := open(t, dial(state, ""), folder, "", false)
		if talk.Window != want {
			t.Errorf("%q: the window is %d, want %d", limit, talk.Window, want)
		}
		ok(t, d.Stop())
	}
}
