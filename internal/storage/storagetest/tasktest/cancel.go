package tasktest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/storage"
	"callgate/internal/task"
)

func cancelsQueued(t *testing.T, d storage.Driver) {
	mustCreateTask(t, d, newTask("a"))
	for range 2 { // a second time changes nothing
		if err := d.Stores().Tasks.Cancel(t.Context(), "a", "ada"); err != nil {
			t.Fatal(err)
		}
	}
	got := mustTask(t, d, "a")
	if got.State != task.Cancelled || got.CancelledBy != "ada" || !got.Owed() {
		t.Errorf("cancelled: %+v", got)
	}
	if got.Outcome == nil || got.Outcome.State != task.Cancelled {
		t.Errorf("the outcome is %+v", got.Outcome)
	}
	isNow(t, "the end", got.Times.Ended)
	nothingDue(t, d, "what was cancelled")
}

func cancelsRunning(t *testing.T, d storage.Driver) {
	s, l := d.Stores().Tasks, d.Stores().Leases
	mustCreateTask(t, d, newTask("stops"), newTask("ends"), newTask("returns"))
	fence := map[string]uint64{}
	for _, id := range []string{"stops", "ends", "returns"} {
		fence[id] = mustLease(t, d, "h", id, time.Hour).Lease.Fence
		for _, by := range []string{"ada", "bob"} { // the first counts
			if err := s.Cancel(t.Context(), id, by); err != nil {
				t.Fatal(err)
			}
		}
		if got := mustTask(t, d, id); got.State != task.Running || got.CancelledBy != "ada" {
			t.Errorf("until its holder sees it: %s, cancelled by %q", got.State, got.CancelledBy)
		}
		if !renew(t, d, id, fence[id], time.Hour, "") {
			t.Error("its holder does not see it")
		}
	}
	// Its holder may stop it, may have been faster, or may give it back.
	if err := l.End(t.Context(), "stops", fence["stops"], task.Outcome{State: task.Cancelled}); err != nil {
		t.Error(err)
	}
	if err := l.End(t.Context(), "ends", fence["ends"], task.Outcome{State: task.Done}); err != nil {
		t.Error(err)
	}
	if err := l.Retry(t.Context(), "returns", fence["returns"], time.Time{}, "no network"); err != nil {
		t.Error(err)
	}
	for id, want := range map[string]task.State{"stops": task.Cancelled, "ends": task.Done, "returns": task.Cancelled} {
		if got := mustTask(t, d, id); got.State != want {
			t.Errorf("%s is %s, want %s", id, got.State, want)
		}
	}
}

// cancelsAbandoned: nobody runs a task whose lease has ended, so it is
// cancelled at once; and one that was to be cancelled is not run again.
func cancelsAbandoned(t *testing.T, d storage.Driver) {
	s := d.Stores().Tasks
	mustCreateTask(t, d, newTask("before"), newTask("after"))
	held := mustLease(t, d, "h", "before", time.Hour)
	mustLease(t, d, "h", "after", -time.Second)
	for _, id := range []string{"before", "after"} {
		if err := s.Cancel(t.Context(), id, "ada"); err != nil {
			t.Fatal(err)
		}
	}
	if got := mustTask(t, d, "after"); got.State != task.Cancelled {
		t.Errorf("a lease that had ended: %s", got.State)
	}
	renew(t, d, "before", held.Lease.Fence, -time.Second, "") // and its holder is lost
	nothingDue(t, d, "what was to be cancelled")
	if got := mustTask(t, d, "before"); got.State != task.Cancelled || !got.Owed() {
		t.Errorf("a lease that ended then: %s", got.State)
	}
}

func cancelsEnded(t *testing.T, d storage.Driver) {
	mustCreateTask(t, d, newTask("a"))
	held := mustLease(t, d, "h", "a", time.Hour)
	if err := d.Stores().Leases.End(t.Context(), "a", held.Lease.Fence, task.Outcome{State: task.Done}); err != nil {
		t.Fatal(err)
	}
	before := mustTask(t, d, "a")
	if err := d.Stores().Tasks.Cancel(t.Context(), "a", "ada"); err != nil {
		t.Errorf("cancelling what has ended: %v", err)
	}
	if diff := cmp.Diff(before, mustTask(t, d, "a")); diff != "" {
		t.Error(diff)
	}
}
