package session_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

const privateText = "PRIVATE-KEY-7261"

// What the shell does not see of a home folder is closed to every file tool.
func TestPrivateFoldersAreClosedToTools(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{".ssh/id_rsa", ".config/gh/hosts.yml", ".netrc", ".aws/credentials", "notes.txt"} {
		ok(t, os.MkdirAll(filepath.Join(home, filepath.Dir(name)), 0o755))
		write(t, filepath.Join(home, name), privateText)
	}
	ok(t, os.Symlink(".ssh", filepath.Join(home, "keys")))
	ok(t, os.Link(filepath.Join(home, ".netrc"), filepath.Join(home, "net")))
	write(t, filepath.Join(home, "callgate.yaml"), "tools: {capabilities: {default_policy: auto}}\n")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, home)
	call := func(name, args string) *tool.Result {
		return s.Call(t.Context(), session.CallRequest{Name: name, Args: json.RawMessage(args), NoWait: true})
	}
	for _, c := range []struct{ name, args string }{
		{"filesystem.read", `{"path":".ssh/id_rsa"}`},
		{"filesystem.read", `{"path":"keys/id_rsa"}`},
		{"filesystem.read", `{"path":".netrc"}`},
		{"filesystem.read", `{"path":"net"}`},
		{"filesystem.read", `{"path":".config/gh/hosts.yml"}`},
		{"filesystem.list", `{"path":".aws"}`},
		{"filesystem.move", `{"from":".ssh","to":"s3"}`},
		{"filesystem.move", `{"from":".netrc","to":"n"}`},
		{"filesystem.delete", `{"path":".config","recursive":true}`},
		{"filesystem.write", `{"path":".ssh/authorized_keys","content":"x"}`},
		{"filesystem.write", `{"path":".npmrc","content":"x"}`},
		{"database.connect", `{"driver":"sqlite","database":".config/x.db"}`},
	} {
		if r := call(c.name, c.args); r.Status == tool.Success || r.Status == tool.Waiting {
			t.Errorf("%s %s: %s %q", c.name, c.args, r.Status, r.Summary)
		}
	}
	for _, c := range []struct{ name, args string }{
		{"filesystem.grep", `{"pattern":"PRIVATE-KEY","hidden":true}`},
		{"filesystem.list", `{"path":".","recursive":true,"all":true}`},
	} {
		r := call(c.name, c.args)
		data, _ := json.Marshal(r)
		if r.Status != tool.Success || strings.Contains(string(data), "id_rsa") || strings.Contains(string(data), ".netrc") {
			t.Errorf("%s: %s", c.name, data)
		}
	}
	if r := call("filesystem.read", `{"path":"notes.txt"}`); r.Status != tool.Success {
		t.Errorf("an ordinary file: %+v", r)
	}
	// A private folder that is the workspace itself was chosen by its user.
	inside := kerneltest.OpenSession(t, k, filepath.Join(home, ".config"))
	request := session.CallRequest{Name: "filesystem.read", Args: json.RawMessage(`{"path":"gh/hosts.yml"}`)}
	if r := inside.Call(t.Context(), request); r.Status != tool.Success {
		t.Errorf("a private folder as the workspace: %s", r.Summary)
	}
}

// While the kernel's state is not where it was at the start, nothing runs: it
// could lie in sight.
func TestNothingRunsWhileTheStateIsElsewhere(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	state := filepath.Join(home, ".local", "state", "callgate")
	ok(t, os.MkdirAll(filepath.Dir(state), 0o700))
	k := kerneltest.Open(t, state)
	s := kerneltest.OpenAccepted(t, k, home)
	moved := filepath.Join(home, "x")
	read := session.CallRequest{Name: "filesystem.list", Args: json.RawMessage(`{"path":"x/state"}`)}
	ok(t, os.Rename(filepath.Join(home, ".local"), moved))
	for _, replaced := range []bool{false, true} {
		if replaced { // another folder has its name
			ok(t, os.MkdirAll(state, 0o700))
		}
		r := s.Call(t.Context(), read)
		if r.Error == nil || r.Error.Kind != tool.Unavailable || !strings.Contains(r.Summary, "was moved or replaced") {
			t.Errorf("replaced %v: %s %q", replaced, r.Status, r.Summary)
		}
		if _, err := k.OpenSession(t.Context(), session.Spec{Workspace: home}); tool.KindOf(err) != tool.Unavailable {
			t.Errorf("replaced %v: a new session: %v", replaced, err)
		}
	}
	ok(t, os.RemoveAll(filepath.Join(home, ".local")))
	ok(t, os.Rename(moved, filepath.Join(home, ".local")))
	read.Args = json.RawMessage(`{"path":"."}`)
	if r := s.Call(t.Context(), read); r.Status != tool.Success {
		t.Errorf("put back: %s", r.Summary)
	}
}
