package kernel_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// until polls for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(limit) {
			t.Fatal("this never came: " + what)
		}
		<-time.After(time.Millisecond)
	}
}

// A grant that is revoked while a call waits for its locks no longer lets it run.
func TestRevokedWhileACallWaits(t *testing.T) {
	kerneltest.OnEachStorage(t, testRevokedWhileACallWaits)
}

func testRevokedWhileACallWaits(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	var blocked atomic.Bool
	release := make(chan struct{})
	r := tool.Runtime{
		Risk: tool.High, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}},
	}
	slow, err := tool.Func("demo.slow", "A tool of the test.", r, func(_ context.Context, _ command) (any, error) {
		ran.Add(1)
		if blocked.Load() {
			<-release
		}
		return map[string]any{"ran": true}, nil
	})
	kerneltest.OK(t, err)
	k := kerneltest.Open(t, kerneltest.StateDir(t), slow)
	s := kerneltest.OpenSession(t, k, folderIn(t, "here"))
	const args = `{"path":"src/a"}`
	id := answerFor(t, k, kerneltest.Call(t, s, "demo.slow", args), time.Time{}, "exact", "in this folder")
	until(t, "the approved call", func() bool { return ran.Load() == 1 })

	blocked.Store(true)
	running, waiting := make(chan *tool.Result, 1), make(chan *tool.Result, 1)
	go func() { running <- kerneltest.Call(t, s, "demo.slow", args) }()
	until(t, "the first call by the grant", func() bool { return ran.Load() == 2 })
	go func() { waiting <- kerneltest.Call(t, s, "demo.slow", args) }()
	until(t, "a call that waits for the lock", func() bool { return len(k.Locks.Snapshot().Waiting) > 0 })
	kerneltest.OK(t, k.Grants.RevokeAs(t.Context(), kerneltest.Human(t, k), []string{id}))
	close(release)
	if first := <-running; first.Status != tool.Success {
		t.Errorf("the call that ran already: %s %q", first.Status, first.Summary)
	}
	if second := <-waiting; tool.KindOf(second.Err()) != tool.Conflict || ran.Load() != 2 {
		t.Errorf("the call that waited: %s %q; %d ran", second.Status, second.Summary, ran.Load())
	}
	want(t, s, tool.Waiting, [2]string{"demo.slow", args})
}
