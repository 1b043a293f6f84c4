package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// Agents in overlapping folders meet at the same lock: a hundred read-modify-
// write calls from two workspaces lose nothing.
func TestOverlappingWorkspacesShareLocks(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	inner := filepath.Join(outer, "inner")
	ok(t, os.Mkdir(inner, 0o755))
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	sessions := map[string]*session.Session{
		"inner/log.txt": kerneltest.OpenSession(t, k, outer),
		"log.txt":       kerneltest.OpenSession(t, k, inner),
	}
	var wg sync.WaitGroup
	for path, s := range sessions {
		for i := range 50 {
			wg.Go(func() {
				args := fmt.Sprintf(`{"path":%q,"content":"line %d\n","mode":"append"}`, path, i)
				if r := s.Call(context.Background(), session.CallRequest{Name: "Write", Args: json.RawMessage(args)}); r.Status != tool.Success {
					t.Errorf("%s: %s", args, r.Summary)
				}
			})
		}
	}
	wg.Wait()
	data, err := os.ReadFile(filepath.Join(inner, "log.txt"))
	ok(t, err)
	if n := strings.Count(string(data), "\n"); n != 100 {
		t.Errorf("%d of 100 lines are there", n)
	}
}

// Somebody who works in their home has the kernel's state among their files: no
// tool reaches it, by whatever name.
func TestNoToolReachesTheStateInsideAWorkspace(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	state := filepath.Join(home, ".local", "state", "callgate")
	ok(t, os.MkdirAll(filepath.Dir(state), 0o700))
	k := kerneltest.Open(t, state)
	write(t, filepath.Join(home, "notes.txt"), "mine")
	ok(t, os.Symlink(filepath.Join(".local", "state"), filepath.Join(home, "link")))
	ok(t, os.Symlink(filepath.Join("link", "callgate", "human.key"), filepath.Join(home, "key")))
	write(t, filepath.Join(home, "callgate.yaml"), "tools: {capabilities: {default_policy: auto}}\n")
	key, err := k.State().HumanKey()
	ok(t, err)
	s := kerneltest.OpenAccepted(t, k, home)
	for _, c := range []struct{ name, args string }{
		{"filesystem.read", `{"path":".local/state/callgate/human.key"}`}, {"filesystem.read", `{"path":"link/callgate/human.key"}`}, {"filesystem.read", `{"path":"key"}`},
		{"filesystem.write", `{"path":"link/callgate/human.key","content":"x"}`}, {"filesystem.edit", `{"path":"key","op":"append","new":"x"}`},
		{"filesystem.list", `{"path":"link/callgate"}`}, {"filesystem.glob", `{"pattern":"*","path":".local/state/callgate"}`},
		{"filesystem.delete", `{"path":".local","recursive":true}`}, {"filesystem.delete", `{"path":".local/state/callgate","recursive":true}`},
		{"filesystem.move", `{"from":".local","to":"elsewhere"}`}, {"filesystem.move", `{"from":"key","to":"k2","overwrite":true}`},
	} {
		if r := s.Call(t.Context(), session.CallRequest{Name: c.name, Args: json.RawMessage(c.args)}); r.Status == tool.Success &&
			c.name != "filesystem.move" {
			t.Errorf("%s %s: %+v", c.name, c.args, r)
		}
	}
	for _, c := range []struct{ name, args string }{
		{"filesystem.grep", fmt.Sprintf(`{"pattern":%q,"hidden":true}`, key[:8])}, {"filesystem.glob", `{"pattern":"**/human.*","hidden":true}`},
		{"filesystem.list", `{"path":".","recursive":true,"all":true}`},
	} {
		r := s.Call(t.Context(), session.CallRequest{Name: c.name, Args: json.RawMessage(c.args)})
		data, _ := json.Marshal(r)
		if r.Status != tool.Success || strings.Contains(string(data), "state/callgate\"") || strings.Contains(string(data), key) {
			t.Errorf("%s: %s", c.name, data)
		}
	}
	if again, err := k.State().HumanKey(); err != nil || again != key {
		t.Errorf("the key is %q, %v", again, err)
	}
	if r := s.Call(t.Context(), session.CallRequest{Name: "filesystem.read", Args: json.RawMessage(`{"path":"notes.txt"}`)}); r.Status != tool.Success {
		t.Errorf("an ordinary file: %+v", r)
	}
}
