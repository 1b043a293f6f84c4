package tasktest

import (
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
