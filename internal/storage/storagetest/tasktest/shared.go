package tasktest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/storage"
	"callgate/internal/task"
	"callgate/tool"
)

// sharedFences: a holder whose lease another process took over is refused.
func sharedFences(t *testing.T, a, b storage.Driver) {
	mustCreateTask(t, a, newTask("a"))
	first := mustLease(t, a, "one", "a", -time.Second)
	second := mustLease(t, b, "two", "a", time.Hour)
	err := a.Stores().Leases.End(t.Context(), "a", first.Lease.Fence, task.Outcome{State: task.Done})
	isKind(t, "the first holder ends it", err, tool.Conflict)
	outcome := task.Outcome{State: task.Done, Summary: "two"}
	if err := b.Stores().Leases.End(t.Context(), "a", second.Lease.Fence, outcome); err != nil {
		t.Error(err)
	}
	if got := mustTask(t, a, "a"); got.Outcome == nil || got.Outcome.Summary != "two" {
		t.Errorf("it ended as %+v", got.Outcome)
	}
}

func sharedCancel(t *testing.T, a, b storage.Driver) {
	mustCreateTask(t, a, newTask("a"))
	held := mustLease(t, a, "one", "a", time.Hour)
	if err := b.Stores().Tasks.Cancel(t.Context(), "a", "ada"); err != nil {
		t.Fatal(err)
	}
	if !renew(t, a, "a", held.Lease.Fence, time.Hour, "") {
		t.Error("its holder does not see it")
	}
}

// sharedCreate: of processes that create the same task at once, one does, and all are
// given the same.
func sharedCreate(t *testing.T, a, b storage.Driver) {
	for n := range 10 {
		var all sync.WaitGroup
		var fresh atomic.Int32
		for who := range 8 {
			all.Go(func() {
				made := newTask(fmt.Sprint(n))
				made.Label = fmt.Sprint(who)
				got, first, err := []storage.Driver{a, b}[who%2].Stores().Tasks.Create(context.Background(), made)
				if err != nil || first != (got.Label == made.Label) {
					t.Errorf("%v, %v: %q was given %q", err, first, made.Label, got.Label)
				}
				if first {
					fresh.Add(1)
				}
			})
		}
		all.Wait()
		if fresh.Load() != 1 {
			t.Errorf("%d created it", fresh.Load())
		}
	}
}
