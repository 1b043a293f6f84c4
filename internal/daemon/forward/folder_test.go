package forward_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/daemon/forward"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol"
	"callgate/internal/token"
)

// newSharing starts nodes that share a database and a folder.
func newSharing(t *testing.T, count int) (all []*node, folder string) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	kerneltest.OK(t, err)
	at := kerneltest.Postgres.URL(t)
	for range count {
		k := kerneltest.OpenWith(t, kernel.Config{
			State: kerneltest.StateDir(t), Storage: at, Lineage: terminal{}, Shared: "team=" + folder,
		})
		n := &node{TB: t, id: kernel.NodeOf(k).ID, kernel: k, workspace: t.TempDir()}
		n.front(func(o *forward.Options) {
			o.Directory = forward.Nodes(kernel.NodeOf(k))
			o.Names = forward.ClaimedNames(kernel.NodeOf(k), k.Artifacts)
		})
		all = append(all, n)
	}
	return all, folder
}

// What is opened in a shared folder is opened at the node that works there, whichever is asked; and at the node that is
// asked, where nobody does.
func TestOpenWhereTheFolderIs(t *testing.T) {
	t.Parallel()
	all, folder := newSharing(t, 3)
	a, b, c := all[0], all[1], all[2]
	kerneltest.Write(t, filepath.Join(folder, "team", "plan.txt"), "the plan")
	work := filepath.Join(folder, "team")
	first := a.open(a.client(), work)
	if got := session.NodeOf(first.ID); got != a.id {
		t.Fatalf("it was opened at %s, and nobody worked there", got)
	}
	// A process of another machine.
	s := b.open(b.client(), work)
	if got := session.NodeOf(s.ID); got != a.id {
		t.Fatalf("it was opened at %s", got)
	}
	result, err := s.Call(t.Context(), protocol.CallRequest{Name: "filesystem.read", Args: []byte(`{"path":"plan.txt"}`)})
	kerneltest.OK(t, err)
	if text, err := json.Marshal(result); err != nil || !strings.Contains(string(text), "the plan") {
		t.Errorf("%v: %s", err, text)
	}
	// A token at a node that serves the folder.
	c.workspace = work
	operator, _ := a.token(token.Operator)
	status, text := c.with(operator, "POST", c.web().URL()+"/v1/sessions", `{}`)
	var opened protocol.Session
	kerneltest.OK(t, json.Unmarshal([]byte(text), &opened))
	if status != http.StatusOK || opened.Workspace != work || session.NodeOf(opened.ID) != a.id {
		t.Errorf("%d %s", status, text)
	}
	// A folder beside it is nobody's yet, and one of this machine alone is its own.
	for _, free := range []string{filepath.Join(folder, "other"), b.workspace} {
		kerneltest.Write(t, filepath.Join(free, "a.txt"), "a")
		if s := b.open(b.client(), free); session.NodeOf(s.ID) != b.id {
			t.Errorf("%s was opened at %s", free, session.NodeOf(s.ID))
		}
	}
}

// A token opens no folder at another node that it could not open at the one that is asked.
func TestFolderIsNotChosenFromAfar(t *testing.T) {
	t.Parallel()
	all, folder := newSharing(t, 2)
	a, b := all[0], all[1]
	work := filepath.Join(folder, "team")
	kerneltest.Write(t, filepath.Join(work, "plan.txt"), "the plan")
	a.open(a.client(), work)
	operator, _ := a.token(token.Operator)
	for _, body := range []string{`{"workspace":"` + work + `"}`, `{"workspace":"` + a.workspace + `"}`} {
		if status, text := b.with(operator, "POST", b.web().URL()+"/v1/sessions", body); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	_, err := b.client(at(kernel.NodeOf(a.kernel).Name())).OpenSession(t.Context(),
		protocol.OpenSession{Workspace: a.workspace})
	if err == nil {
		t.Error("a folder of another machine was opened")
	}
}
