package apps_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/kernel/kerneltest"
	"callgate/llm"
	"callgate/tool"
)

// What a human takes back is taken from open sessions and conversations too.
func TestRevokedWhileOpen(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), "tools: {capabilities: {grant: [{module: filesystem}]}}\n")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, folder)
	talk := kerneltest.OpenConversation(t, k, folder)
	const args = `{"path":"a.txt","content":"x"}`
	if r := kerneltest.Call(t, s, "filesystem.write", args); r.Err() != nil {
		t.Fatal(r.Err())
	}
	kerneltest.OK(t, k.RevokeApp(kerneltest.Human(t, k), s, "ada"))
	if r := kerneltest.Call(t, s, "filesystem.write", args); tool.KindOf(r.Err()) != tool.Denied ||
		!strings.Contains(r.Summary, "took back") {
		t.Errorf("%s %s", r.Status, r.Summary)
	}
	if _, err := talk.Send(t.Context(), llm.TextMessage(llm.User, "hello"), conversation.Watch{}); tool.KindOf(err) != tool.Denied {
		t.Errorf("a turn: %v", err)
	}
	r := kerneltest.Call(t, kerneltest.OpenSession(t, k, folder), "filesystem.delete", `{"path":"a.txt"}`)
	if r.Status != tool.Waiting {
		t.Errorf("a new session: %s %s", r.Status, r.Summary)
	}
}

// What agents remember is not for another folder whose file claims the same ID, or
// whose name is the same, before a human accepts that.
func TestMemoryIsNotForWhoClaimsTheID(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := func(path, app string) string {
		path = filepath.Join(t.TempDir(), path)
		kerneltest.OK(t, os.MkdirAll(path, 0o700))
		if app != "" {
			write(t, filepath.Join(path, "callgate.yaml"), app)
		}
		return path
	}
	const app = "app: {app_id: notes}\n"
	own := folder("mine", app)
	s := kerneltest.OpenSession(t, k, own)
	if r := kerneltest.Call(t, s, "memory.upsert", `{"key":"door","content":"the door opens with 4711"}`); r.Err() != nil {
		t.Fatal(r.Err())
	}
	knows := func(in string) bool {
		s := kerneltest.OpenSession(t, k, in)
		defer s.Close()
		r := kerneltest.Call(t, s, "memory.query", `{"query":"door"}`)
		return strings.Contains(r.Summary+string(r.Data), "4711")
	}
	if !knows(own) {
		t.Fatal("it is forgotten")
	}
	clone := folder("cloned", app)
	for name, in := range map[string]string{
		"an ID": clone, "a name": folder("notes", ""), "the name of a folder with a file": folder("notes", "{}\n"),
	} {
		if knows(in) {
			t.Errorf("%s is enough to know what another app remembers", name)
		}
	}
	s = kerneltest.OpenSession(t, k, clone)
	if shown := k.PendingConsent(s); !strings.Contains(shown, "have what the app notes of "+own+"/callgate.yaml remembers") {
		t.Errorf("the human is shown %q", shown)
	}
	kerneltest.AcceptApp(t, k, s)
	if !knows(clone) || !knows(own) {
		t.Error("accepted, it is not shared")
	}
}
