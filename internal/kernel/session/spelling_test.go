package session_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
)

// A rule about arguments holds in every spelling of the tool and of the arguments.
func TestDeniedArgumentsInOtherWords(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	ok(t, os.MkdirAll(filepath.Join(folder, "secret", "deep"), 0o755))
	write(t, filepath.Join(folder, "secret", "a.txt"), "the-value-inside")
	write(t, filepath.Join(folder, "open.txt"), "open")
	ok(t, os.Symlink("secret", filepath.Join(folder, "door")))
	ok(t, os.Symlink("secret/a.txt", filepath.Join(folder, "key.txt")))
	write(t, filepath.Join(folder, "callgate.yaml"), `
tools:
  capabilities:
    grant: [{module: "*"}]
    deny:
    - {module: filesystem, match: {path: "secret/**"}}
    - {module: shell, match: {command: "cat **"}}
`)
	s := kerneltest.OpenAccepted(t, kerneltest.Open(t, kerneltest.StateDir(t)), folder)
	for _, c := range []struct{ name, args string }{
		{"filesystem.read", `{"path":"secret/a.txt"}`},
		{"filesystem.read", `{"path":"./secret//a.txt"}`},
		{"filesystem.read", `{"path":"door/a.txt"}`},
		{"filesystem.read", `{"path":"key.txt"}`},
		{"filesystem.read", `{"path":"secret/deep/../a.txt"}`},
		{"filesystem.read", `{"path":["secret/a.txt"]}`},
		{"filesystem.read", `{"path":"\u0073ecret/a.txt"}`},
		{"filesystem.read", `{"path":" secret/a.txt"}`},
		{"filesystem.read", `{"path":"open.txt","path":"secret/a.txt"}`},
		{"filesystem.read", `{"path":"secret/a.txt","path":"open.txt"}`},
		{"filesystem.read", `{"path":"open.txt","Path":"secret/a.txt"}`},
		{"filesystem.read", `{"Path":"secret/a.txt"}`},
		{"filesystem.read", `{"file_path":"secret/a.txt"}`},
		{"filesystem.read", `{"file":"secret/a.txt"}`},
		{"filesystem_read", `{"path":"secret/a.txt"}`},
		{"filesystem__read", `{"path":"secret/a.txt"}`},
		{"fs.read", `{"path":"secret/a.txt"}`},
		{"FileSystem.Read", `{"path":"secret/a.txt"}`},
		{"read", `{"path":"secret/a.txt"}`},
		{"filesystem.read", "{\"path\":\"" + folder + "/secret/a.txt\"}"},
		{"filesystem.read", `{"path":"file://` + folder + `/secret/a.txt"}`},
		{"execute_tool", `{"name":"filesystem.read","arguments":{"path":"secret/a.txt"}}`},
		{"execute_tool", `{"name":"fs_read","args":{"path":"door/a.txt"}}`},
		{"execute_tool", `{"tool":"filesystem.read","params":"{\"path\":\"secret/a.txt\"}"}`},
		{"filesystem.grep", `{"pattern":"value","path":"secret"}`},
		{"filesystem.grep", `{"pattern":"the-value","path":"door"}`},
		{"shell.bash", `{"command":"cat secret/a.txt"}`},
		{"shell.bash", `{"command":"true; cat secret/a.txt"}`},
		{"shell.bash", `{"command":"c\\at secret/a.txt"}`},
		{"shell.bash", `{"command":"'cat' secret/a.txt"}`},
		{"shell.bash", `{"command":"env cat secret/a.txt"}`},
		{"shell.bash", `{"command":"/bin/cat secret/a.txt"}`},
		{"shell.bash", `{"command":"$(echo cat) secret/a.txt"}`},
		{"shell.bash", `{"command":"x=cat; $x secret/a.txt"}`},
		{"shell.bash", `{"command":"sh -c 'cat secret/a.txt'"}`},
		{"shell.bash", `{"command":["cat secret/a.txt"]}`},
		{"shell.bash", `{"command":"command cat secret/a.txt"}`},
		{"shell.bash", `{"command":"echo x | xargs -I{} cat secret/a.txt"}`},
		{"shell.bash", `{"command":"eval 'ca''t secret/a.txt'"}`},
		{"shell.bash", `{"command":"cat<secret/a.txt"}`},
		{"shell.bash", `{"command":"cat open.txt secret/a.txt"}`},
		{"shell.bash", `{"command":"busybox cat secret/a.txt"}`},
		{"shell.bash", `{"command":"c$()at secret/a.txt"}`},
		{"shell.bash", `{"command":"{cat,secret/a.txt}"}`},
		{"shell.bash", `{"command":"$'\\x63at' secret/a.txt"}`},
		{"shell.bash", `{"command":"alias q=cat\nq secret/a.txt"}`},
		{"shell.bash", `{"command":"f() { cat \"$@\"; }; f secret/a.txt"}`},
		{"shell.bash", `{"command":"nohup timeout 5 nice cat secret/a.txt"}`},
	} {
		r := s.Call(t.Context(), session.CallRequest{Name: c.name, Args: json.RawMessage(c.args), NoWait: true})
		if told, err := json.Marshal(r); err != nil || strings.Contains(string(told), "the-value-inside") {
			t.Errorf("%s %s: %s %s %v", c.name, c.args, r.Status, told, err)
		}
	}
}
