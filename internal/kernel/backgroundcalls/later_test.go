package backgroundcalls_test

import (
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/tool"
)

// A task that waited for a human is refused if the rules forbid it by the time that the
// human says yes, and a new kernel has read them.
func TestDeniedByNow(t *testing.T) {
	t.Parallel()
	state, folder := kerneltest.StateDir(t), inFolder(t, "app: {app_id: a}\n")
	write(t, filepath.Join(folder, "x"), "")
	k := kerneltest.Open(t, state)
	s := kerneltest.OpenSession(t, k, folder)
	_, begun := run(t, s, `{"name":"filesystem.delete","params":{"path":"x"}}`)
	id := asked(t, k).ID
	crash(t, k, state)
	write(t, filepath.Join(folder, "callgate.yaml"),
		"app: {app_id: a}\ntools:\n  capabilities: {deny: [{module: filesystem, actions: [delete]}]}\n")
	k = kerneltest.Open(t, state)
	kerneltest.Settle(t, k, id, approval.Answer{Approve: true})
	got := ended(t, k, begun.TaskID)
	if got.State != task.Failed || tool.KindOf(got.Outcome.Error) != tool.Denied {
		t.Errorf("%s: %+v", got.State, got.Outcome)
	}
	if _, err := os.Stat(filepath.Join(folder, "x")); err != nil {
		t.Error(err)
	}
}

// A call of any tool can be moved by hand, by its own session alone. It ends when it is
// cancelled, like one that was begun in the background.
func TestMoveAnyTool(t *testing.T) {
	t.Parallel()
	work := newGated()
	k := kerneltest.Open(t, kerneltest.StateDir(t), work.tool(t, writes))
	s := kerneltest.OpenAccepted(t, k, inFolder(t, free))
	told := make(chan *tool.Result, 1)
	go func() {
		told <- s.Call(t.Context(), session.CallRequest{ID: "c1", Name: "demo.work", Args: []byte(`{}`), Movable: true})
	}()
	<-work.began
	if err := k.Background.Move(t.Context(), "another", "c1"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("another session: %v", err)
	}
	ok(t, k.Background.Move(t.Context(), s.ID(), "c1"))
	if r := <-told; r.Status != tool.Success {
		t.Fatalf("%+v", r)
	}
	list := listed(t, k)
	if len(list) != 1 || list[0].State.Final() {
		t.Fatalf("%+v", list)
	}
	if _, at := run(t, s, of(list[0].ID, `"cancel":true`)); at.Status != "cancelled" {
		t.Errorf("%+v", at)
	}
}
