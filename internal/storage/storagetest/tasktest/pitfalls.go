package tasktest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"callgate/internal/storage"
	"callgate/internal/task"
	"callgate/tool"
)

// pitfalls are what River's users found, by the numbers of its tracker. A driver on
// River, and one on anything else, must not fall into them.
func pitfalls() map[string]func(*testing.T, storage.Driver) {
	return map[string]func(*testing.T, storage.Driver){
		"1302 RescueLeavesCompleted":          rescueLeavesCompleted,
		"1373 RescueLeavesReclaimed":          rescueLeavesReclaimed,
		"1373 RescueRacesCompletion":          rescueRacesCompletion,
		"1318 RescuePassesWhatItCannotRescue": rescuePasses,
		"CompletionByIDAlone":                 completionByIDAlone,
		"IDReused":                            idReused,
		"NumberReused":                        numberReused,
		"1308 DeletedWhileRunning":            deletedWhileRunning,
		"1350 CancelledThenCompleted":         cancelledThenCompleted,
		"1350 CancelledThenSnoozed":           cancelledThenSnoozed,
		"CancelledThenRescued":                cancelledThenRescued,
		"730 SnoozeIsNoAttempt":               snoozeIsNoAttempt,
		"1037 SnoozeForNoTime":                snoozeForNoTime,
		"1290 StopIsNoAttempt":                stopIsNoAttempt,
		"RetriedAttemptedBy":                  retriedAttemptedBy,
		"1349 TimesToTheDigit":                timesToTheDigit,
		"PruneLeavesUnended":                  pruneLeavesUnended,
		"PruneIsWholeInSteps":                 pruneIsWhole,
	}
}

func mustEnd(t *testing.T, d storage.Driver, held task.Task, o task.Outcome) {
	t.Helper()
	if err := d.Stores().Leases.End(t.Context(), held.ID, held.Lease.Fence, o); err != nil {
		t.Fatal(err)
	}
}

func mustCancel(t *testing.T, d storage.Driver, id string) {
	t.Helper()
	if err := d.Stores().Tasks.Cancel(t.Context(), id, "ada"); err != nil {
		t.Fatal(err)
	}
}

// The holder was slow, and ends its task after the lease and before the rescue.
func rescueLeavesCompleted(t *testing.T, d storage.Driver) {
	once := newTask("once")
	once.MaxAttempts = 1
	mustCreateTask(t, d, newTask("a"), once)
	for _, id := range []string{"a", "once"} {
		mustEnd(t, d, mustLease(t, d, "slow", id, -time.Hour), task.Outcome{State: task.Done, Summary: "well"})
	}
	for _, r := range []task.Request{{Holder: "rescuer"}, {Holder: "slow", Own: true}} {
		r.For, r.N = time.Hour, 9
		if leased, ended, err := d.Stores().Queue.Lease(t.Context(), r); err != nil || len(leased)+len(ended) > 0 {
			t.Errorf("rescued %v, ended %v, %v", ids(leased), ids(ended), err)
		}
	}
	for _, id := range []string{"a", "once"} {
		if got := mustTask(t, d, id); got.State != task.Done || got.Outcome.Summary != "well" || got.Attempt != 1 {
			t.Errorf("%+v", got)
		}
	}
}

// What was rescued and runs again is not rescued from its new holder.
func rescueLeavesReclaimed(t *testing.T, d storage.Driver) {
	once := newTask("a")
	once.MaxAttempts = 2
	mustCreateTask(t, d, once)
	mustLease(t, d, "dead", "a", -time.Hour)
	second := mustLease(t, d, "two", "a", time.Hour)
	for _, r := range []task.Request{
		{Holder: "rescuer"}, {Holder: "dead", Own: true}, {Holder: "dead", Own: true, ID: "a"},
	} {
		r.For, r.N = time.Hour, 9
		if leased, ended, err := d.Stores().Queue.Lease(t.Context(), r); err != nil || len(leased)+len(ended) > 0 {
			t.Errorf("rescued %v, ended %v, %v", ids(leased), ids(ended), err)
		}
	}
	sameTask(t, "the second holder's", second, mustTask(t, d, "a"))
}

// An end and a rescue that come at once: one of them counts, and the other knows.
func rescueRacesCompletion(t *testing.T, d storage.Driver) {
	for n := range 30 {
		id := fmt.Sprint(n)
		mustCreateTask(t, d, newTask(id))
		held := mustLease(t, d, "slow", id, -time.Hour)
		var ended error
		var leased []task.Task
		var both sync.WaitGroup
		both.Go(func() {
			ended = d.Stores().Leases.End(context.Background(), id, held.Lease.Fence, task.Outcome{State: task.Done})
		})
		both.Go(func() {
			var err error
			leased, _, err = d.Stores().Queue.Lease(context.Background(), task.Request{Holder: "r", ID: id, For: time.Hour})
			if err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		got := mustTask(t, d, id)
		switch {
		case ended == nil && (len(leased) != 0 || got.State != task.Done):
			t.Errorf("it ended, %v was leased, and it is %s", ids(leased), got.State)
		case ended != nil && (tool.KindOf(ended) != tool.Conflict || len(leased) != 1 || got.State != task.Running):
			t.Errorf("it did not end (%v), %v was leased, and it is %s", ended, ids(leased), got.State)
		}
	}
}

// Many that a holder does not want come before the one that it wants.
func rescuePasses(t *testing.T, d storage.Driver) {
	past := time.Now().Add(-time.Hour)
	for n := range 40 {
		mustCreateTask(t, d, task.Task{ID: fmt.Sprint(n), Kind: "others", RunAt: past})
	}
	mustCreateTask(t, d, task.Task{ID: "mine", Kind: "mine"})
	mustLease(t, d, "dead", "mine", -time.Second)
	r := task.Request{Holder: "h", Kinds: []string{"mine"}, For: time.Hour}
	if list, _, err := d.Stores().Queue.Lease(t.Context(), r); err != nil || !slices.Equal(ids(list), []string{"mine"}) {
		t.Errorf("leased %v, %v", ids(list), err)
	}
}

// Complete that matches the ID alone lets a dead holder end what another runs.
func completionByIDAlone(t *testing.T, d storage.Driver) {
	mustCreateTask(t, d, newTask("a"))
	first := mustLease(t, d, "same", "a", -time.Hour)
	r := task.Request{Holder: "same", ID: "a", Own: true, For: time.Hour} // its next process
	if list, _, err := d.Stores().Queue.Lease(t.Context(), r); err != nil || len(list) != 1 {
		t.Fatalf("leased %v, %v", ids(list), err)
	}
	done := task.Outcome{State: task.Done, Summary: "of the first"}
	isKind(t, "the first", d.Stores().Leases.End(t.Context(), "a", first.Lease.Fence, done), tool.Conflict)
	if got := mustTask(t, d, "a"); got.State != task.Running {
		t.Errorf("it is %s", got.State)
	}
}

// A task is pruned and its ID used again: a holder of the first is nobody to the second.
func idReused(t *testing.T, d storage.Driver) {
	bare := task.Task{ID: "a", Kind: "call"}
	mustCreateTask(t, d, bare)
	first := mustLease(t, d, "h", "a", time.Hour)
	mustEnd(t, d, first, task.Outcome{State: task.Done})
	if n, err := d.Stores().Queue.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	mustCreateTask(t, d, bare)
	second := mustLease(t, d, "h", "a", time.Hour)
	if second.Lease.Fence <= first.Lease.Fence {
		t.Errorf("the fence was %d, and is %d", first.Lease.Fence, second.Lease.Fence)
	}
	isKind(t, "the first holder ends it",
		d.Stores().Leases.End(t.Context(), "a", first.Lease.Fence, task.Outcome{State: task.Failed}), tool.Conflict)
	lost(t, d, "the first holder renews it", "a", first.Lease.Fence)
}

// The newest task is pruned: those that come after it do not take its place.
func numberReused(t *testing.T, d storage.Driver) {
	mustCreateTask(t, d, task.Task{ID: "old", Kind: "call"})
	endAs(t, d, task.Task{ID: "pruned", Kind: "call"}, task.Done)
	if err := d.Stores().TaskLogs.Append(t.Context(), "pruned", task.Entry{Text: "of the pruned"}, 9); err != nil {
		t.Fatal(err)
	}
	if n, err := d.Stores().Queue.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	mustCreateTask(t, d, task.Task{ID: "new", Kind: "call"}, task.Task{ID: "newer", Kind: "call"})
	if list, err := d.Stores().TaskLogs.Entries(t.Context(), "new", 0); err != nil || len(list) != 0 {
		t.Errorf("it has the log of another: %v, %v", list, err)
	}
	list, err := d.Stores().Tasks.List(t.Context(), task.Query{After: "old"})
	if err != nil || !slices.Equal(ids(list), []string{"new", "newer"}) {
		t.Errorf("after the old one come %v, %v", ids(list), err)
	}
}

// One of many that are renewed is not there any more.
func deletedWhileRunning(t *testing.T, d storage.Driver) {
	mustCreateTask(t, d, task.Task{ID: "a", Kind: "call"}, task.Task{ID: "gone", Kind: "call"})
	a, gone := mustLease(t, d, "h", "a", -time.Second), mustLease(t, d, "h", "gone", time.Hour)
	mustEnd(t, d, gone, task.Outcome{State: task.Done})
	if _, err := d.Stores().Queue.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	found, err := d.Stores().Queue.Renew(t.Context(), []task.Renewal{
		{ID: "gone", Fence: gone.Lease.Fence}, {ID: "a", Fence: a.Lease.Fence},
	}, time.Hour)
	if err != nil || !slices.Equal(found.Lost, []string{"gone"}) || len(found.Cancelled) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	nothingDue(t, d, "what was renewed")
}

// What is done is done, also when somebody wanted it cancelled.
func cancelledThenCompleted(t *testing.T, d storage.Driver) {
	mustCreateTask(t, d, newTask("a"))
	held := mustLease(t, d, "h", "a", time.Hour)
	mustCancel(t, d, "a")
	mustEnd(t, d, held, task.Outcome{State: task.Done, Summary: "well"})
	mustCancel(t, d, "a")
	if got := mustTask(t, d, "a"); got.State != task.Done || got.Outcome.Summary != "well" || got.CancelledBy != "ada" {
		t.Errorf("%+v", got)
	}
}

// What is to be cancelled does not come back by giving itself back, or by failing.
func cancelledThenSnoozed(t *testing.T, d storage.Driver) {
	l := d.Stores().Leases
	for name, give := range map[string]func(task.Task) error{
		"again": func(h task.Task) error {
			return l.Again(t.Context(), h.ID, h.Lease.Fence, time.Time{}, json.RawMessage(`1`))
		},
		"retry":   func(h task.Task) error { return l.Retry(t.Context(), h.ID, h.Lease.Fence, time.Time{}, "no") },
		"release": func(h task.Task) error { return l.Release(t.Context(), h.ID, h.Lease.Fence) },
	} {
		once := newTask(name)
		once.MaxAttempts = 1
		mustCreateTask(t, d, once)
		held := mustLease(t, d, "h", name, time.Hour)
		mustCancel(t, d, name)
		if err := give(held); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := mustTask(t, d, name); got.State != task.Cancelled || !got.Owed() {
			t.Errorf("%s: %+v", name, got)
		}
	}
	nothingDue(t, d, "what was cancelled")
}

// What was to be cancelled when its holder was lost is cancelled, and not run again.
func cancelledThenRescued(t *testing.T, d storage.Driver) {
	mustCreateTask(t, d, newTask("a"))
	held := mustLease(t, d, "lost", "a", time.Hour)
	mustCancel(t, d, "a")
	renew(t, d, "a", held.Lease.Fence, -time.Second, "")
	leased, ended, err := d.Stores().Queue.Lease(t.Context(), task.Request{Holder: "h", For: time.Hour, N: 9})
	if err != nil || len(leased) != 0 || !slices.Equal(ids(ended), []string{"a"}) {
		t.Fatalf("leased %v, ended %v, %v", ids(leased), ids(ended), err)
	}
	got := mustTask(t, d, "a")
	sameTask(t, "as it was reported", got, ended[0])
	if got.State != task.Cancelled || got.Outcome.State != task.Cancelled {
		t.Errorf("%+v", got)
	}
	isKind(t, "its holder comes back",
		d.Stores().Leases.End(t.Context(), "a", held.Lease.Fence, task.Outcome{State: task.Done}), tool.Conflict)
}

// A task that gives itself back a thousand times has used up none of its attempts.
func snoozeIsNoAttempt(t *testing.T, d storage.Driver) {
	once := newTask("a")
	once.MaxAttempts = 1
	mustCreateTask(t, d, once)
	for range 20 {
		held := mustLease(t, d, "h", "a", time.Hour)
		if err := d.Stores().Leases.Again(t.Context(), "a", held.Lease.Fence, time.Time{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := mustTask(t, d, "a"); got.State != task.Queued || got.Attempt != 0 {
		t.Errorf("%+v", got)
	}
}

// Again at no time, or at one that has passed, is at once.
func snoozeForNoTime(t *testing.T, d storage.Driver) {
	mustCreateTask(t, d, newTask("a"))
	for _, at := range []time.Time{{}, time.Now().Add(-time.Hour), time.Now()} {
		held := mustLease(t, d, "h", "a", time.Hour)
		if err := d.Stores().Leases.Again(t.Context(), "a", held.Lease.Fence, at, nil); err != nil {
			t.Fatal(err)
		}
		if got := mustTask(t, d, "a"); got.State != task.Queued || got.RunAt.After(time.Now()) {
			t.Errorf("at %v: %+v", at, got)
		}
	}
	mustLease(t, d, "h", "a", time.Hour)
}

// A kernel that closes takes no attempt from a task, also not from one that failed before.
func stopIsNoAttempt(t *testing.T, d storage.Driver) {
	made := newTask("a")
	made.MaxAttempts = 2
	mustCreateTask(t, d, made)
	held := mustLease(t, d, "h", "a", time.Hour)
	if err := d.Stores().Leases.Retry(t.Context(), "a", held.Lease.Fence, time.Time{}, "no network"); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		held = mustLease(t, d, "h", "a", time.Hour)
		if held.Attempt != 2 {
			t.Fatalf("attempt %d", held.Attempt)
		}
		if err := d.Stores().Leases.Release(t.Context(), "a", held.Lease.Fence); err != nil {
			t.Fatal(err)
		}
	}
	if got := mustTask(t, d, "a"); got.Attempt != 1 || !got.RunAt.Before(time.Now()) {
		t.Errorf("%+v", got)
	}
}

// Nobody holds what was given back, and then its new holder does.
func retriedAttemptedBy(t *testing.T, d storage.Driver) {
	mustCreateTask(t, d, newTask("a"))
	first := mustLease(t, d, "one", "a", time.Hour)
	if err := d.Stores().Leases.Retry(t.Context(), "a", first.Lease.Fence, time.Time{}, "no network"); err != nil {
		t.Fatal(err)
	}
	if got := mustTask(t, d, "a"); got.Lease.Holder != "" || !got.Lease.Until.IsZero() {
		t.Errorf("it is held: %+v", got.Lease)
	}
	lost(t, d, "who gave it back", "a", first.Lease.Fence)
	second := mustLease(t, d, "two", "a", time.Hour)
	if second.Lease.Holder != "two" || second.Lease.Fence <= first.Lease.Fence {
		t.Errorf("%+v after %+v", second.Lease, first.Lease)
	}
}

// Times are kept to the nanosecond and compared as times, in whatever zone they were
// written, and the store's clock says what is due.
func timesToTheDigit(t *testing.T, d storage.Driver) {
	base := time.Now().Add(-time.Hour).Truncate(time.Second)
	zone := time.FixedZone("elsewhere", -11*60*60)
	want := []string{}
	for i, frac := range []time.Duration{0, 1, 100, 1_000_000, 10_000_000, 100_000_000, 900_000_000, 999_999_999} {
		at := base.Add(frac)
		if i%2 == 0 {
			at = at.In(zone)
		}
		id := fmt.Sprint(9 - i) // not the order of the IDs
		want = append(want, id)
		mustCreateTask(t, d, task.Task{ID: id, Kind: "call", RunAt: at})
		if got := mustTask(t, d, id); !got.RunAt.Equal(at) {
			t.Errorf("%v is kept as %v", at, got.RunAt)
		}
	}
	if next, err := d.Stores().Queue.Next(t.Context(), "h"); err != nil || !next.Equal(base) {
		t.Errorf("the next is due at %v, want %v, %v", next, base, err)
	}
	list, _, err := d.Stores().Queue.Lease(t.Context(), task.Request{Holder: "h", For: time.Hour, N: 99})
	if err != nil || !slices.Equal(ids(list), want) {
		t.Errorf("leased %v, want %v, %v", ids(list), want, err)
	}
}
