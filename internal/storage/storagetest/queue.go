package storagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/storage"
	"callgate/internal/task"
	"callgate/tool"
)

func leasesInOrder(t *testing.T, d storage.Driver) {
	now := time.Now()
	for _, made := range []struct {
		id  string
		ago time.Duration
	}{
		{"third", time.Minute}, {"first", time.Hour}, {"later", -time.Hour}, {"second", 2 * time.Minute},
		{"fourth", time.Minute},
	} {
		mustCreateTask(t, d, task.Task{ID: made.id, Kind: "call", RunAt: now.Add(-made.ago)})
	}
	first, err := d.Stores().Queue.Lease(t.Context(), task.Request{Holder: "h", For: time.Hour})
	if err != nil || !slices.Equal(ids(first), []string{"first"}) {
		t.Fatalf("one: %v, %v", ids(first), err)
	}
	rest, err := d.Stores().Queue.Lease(t.Context(), task.Request{Holder: "h", For: time.Hour, N: 10})
	if err != nil || !slices.Equal(ids(rest), []string{"second", "third", "fourth"}) {
		t.Fatalf("the rest that is due: %v, %v", ids(rest), err)
	}
	for _, got := range append(first, rest...) {
		if got.State != task.Running || got.Lease.Holder != "h" || got.Lease.Fence != 1 || got.Attempt != 1 {
			t.Errorf("%s is %s, lease %+v, attempt %d", got.ID, got.State, got.Lease, got.Attempt)
		}
		isNow(t, "the start", got.Times.Started)
		isNow(t, "an hour before the lease's end", got.Lease.Until.Add(-time.Hour))
	}
	nothingDue(t, d, "what is held or not due")
}

func leasesByKindAndID(t *testing.T, d storage.Driver) {
	past := time.Now().Add(-time.Hour)
	for i, kind := range []string{"call", "watch", "schedule", "call"} {
		mustCreateTask(t, d, task.Task{ID: fmt.Sprint(kind, i), Kind: kind, RunAt: past.Add(time.Duration(i) * time.Second)})
	}
	for _, tt := range []struct {
		request task.Request
		want    []string
	}{
		{task.Request{Kinds: []string{"none"}, N: 9}, nil},
		{task.Request{ID: "watch1", Kinds: []string{"call"}, N: 9}, nil},
		{task.Request{ID: "call3", N: 9}, []string{"call3"}},
		{task.Request{Kinds: []string{"schedule", "call"}, N: 9}, []string{"call0", "schedule2"}},
		{task.Request{N: 9}, []string{"watch1"}},
	} {
		tt.request.Holder, tt.request.For = "h", time.Hour
		list, err := d.Stores().Queue.Lease(t.Context(), tt.request)
		if diff := cmp.Diff(tt.want, ids(list)); err != nil || diff != "" {
			t.Errorf("%+v: %v %s", tt.request, err, diff)
		}
	}
}

// leasesOwn tests that a holder need not wait for the leases of its former process.
func leasesOwn(t *testing.T, d storage.Driver) {
	mustCreateTask(t, d, newTask("mine"), newTask("mine too"), newTask("of another"))
	mustLease(t, d, "me", "mine", time.Hour)
	mustLease(t, d, "me", "mine too", time.Hour)
	mustLease(t, d, "another", "of another", time.Hour)
	lease := func(r task.Request) []string {
		t.Helper()
		r.Holder, r.For, r.N = "me", time.Hour, 10
		list, err := d.Stores().Queue.Lease(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return ids(list)
	}
	if got := lease(task.Request{}); len(got) != 0 {
		t.Errorf("leased %v without asking for its own", got)
	}
	if got := lease(task.Request{ID: "mine", Own: true}); !slices.Equal(got, []string{"mine"}) {
		t.Errorf("leased %v, want only the named one", got)
	}
	if got := mustTask(t, d, "mine"); got.Attempt != 2 || got.Lease.Fence != 2 {
		t.Errorf("leased again: %+v", got)
	}
	if got := lease(task.Request{ID: "of another", Own: true}); len(got) != 0 {
		t.Errorf("leased %v, which another holds", got)
	}
	if got := lease(task.Request{Own: true, Runs: []string{"mine", "x"}}); !slices.Equal(got, []string{"mine too"}) {
		t.Errorf("leased %v, want what it does not run", got)
	}
	if got := lease(task.Request{Own: true}); !slices.Equal(got, []string{"mine", "mine too"}) {
		t.Errorf("leased %v, want both of its own", got)
	}
}

// leaseEnds: a task whose lease has ended is leased again, with the next fence,
// and by its first holder it can be renewed as long as nobody else has it.
func leaseEnds(t *testing.T, d storage.Driver) {
	q := d.Stores().Queue
	mustCreateTask(t, d, newTask("a"))
	first := mustLease(t, d, "one", "a", -time.Second)
	if _, err := q.Renew(t.Context(), "a", first.Lease.Fence, -time.Second, ""); err != nil {
		t.Errorf("its holder was slow, and nobody else has it: %v", err)
	}
	second := mustLease(t, d, "two", "a", time.Hour)
	if second.Lease.Fence != first.Lease.Fence+1 || second.Attempt != 2 || second.Lease.Holder != "two" {
		t.Errorf("leased again: %+v, attempt %d", second.Lease, second.Attempt)
	}
	if !second.Times.Started.Equal(first.Times.Started) {
		t.Errorf("it started at %v, and then at %v", first.Times.Started, second.Times.Started)
	}
	_, err := q.Renew(t.Context(), "a", first.Lease.Fence, time.Hour, "mine")
	isKind(t, "the first holder comes back", err, tool.Conflict)
	sameTask(t, "the second holder's", second, mustTask(t, d, "a"))
}

// staleFence: a holder that was replaced changes nothing, and neither does one
// that never held the task, or whose task has ended.
func staleFence(t *testing.T, d storage.Driver) {
	q := d.Stores().Queue
	mustCreateTask(t, d, newTask("queued"), newTask("held"), newTask("ended"))
	mustLease(t, d, "one", "held", -time.Second)
	mustLease(t, d, "two", "held", time.Hour)
	done := mustLease(t, d, "one", "ended", time.Hour)
	if err := q.End(t.Context(), "ended", done.Lease.Fence, task.Outcome{State: task.Done, Summary: "well"}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		id    string
		fence uint64
	}{{"queued", 0}, {"queued", 1}, {"held", 1}, {"held", 3}, {"held", 0}, {"ended", 1}, {"ended", 2}} {
		before := mustTask(t, d, tt.id)
		what := fmt.Sprintf("%s with fence %d", tt.id, tt.fence)
		_, err := q.Renew(t.Context(), tt.id, tt.fence, time.Hour, "changed")
		isKind(t, "renew "+what, err, tool.Conflict)
		isKind(t, "end "+what, q.End(t.Context(), tt.id, tt.fence, task.Outcome{State: task.Failed}), tool.Conflict)
		isKind(t, "retry "+what, q.Retry(t.Context(), tt.id, tt.fence, time.Time{}, "changed"), tool.Conflict)
		if diff := cmp.Diff(before, mustTask(t, d, tt.id)); diff != "" {
			t.Errorf("%s changed it: %s", what, diff)
		}
	}
}

func renewsLease(t *testing.T, d storage.Driver) {
	q := d.Stores().Queue
	mustCreateTask(t, d, newTask("a"))
	held := mustLease(t, d, "h", "a", -time.Second)
	if cancelled, err := q.Renew(t.Context(), "a", held.Lease.Fence, time.Hour, "half way"); err != nil || cancelled {
		t.Fatal(cancelled, err)
	}
	got := mustTask(t, d, "a")
	if got.Progress != "half way" || got.Lease.Fence != held.Lease.Fence || got.Attempt != 1 {
		t.Errorf("renewed: %+v", got)
	}
	isNow(t, "an hour before the lease's end", got.Lease.Until.Add(-time.Hour))
	if _, err := q.Renew(t.Context(), "a", held.Lease.Fence, time.Hour, ""); err != nil {
		t.Fatal(err)
	}
	if got := mustTask(t, d, "a").Progress; got != "half way" {
		t.Errorf("a renewal without progress left %q", got)
	}
	nothingDue(t, d, "a renewed task")
}

func endsTask(t *testing.T, d storage.Driver) {
	q := d.Stores().Queue
	for i, want := range []task.Outcome{
		{State: task.Done, Summary: "é", Data: json.RawMessage(`{"n":1}`), ArtifactRef: "sha256:x"},
		{State: task.Failed, Error: &tool.Error{Op: "x", Kind: tool.Denied, Message: "no", Hint: "ask"}},
		{State: task.Cancelled, Summary: "stopped"},
	} {
		id := fmt.Sprint(i)
		mustCreateTask(t, d, newTask(id))
		held := mustLease(t, d, "h", id, -time.Second)
		if err := q.End(t.Context(), id, held.Lease.Fence, want); err != nil {
			t.Fatal(err)
		}
		got := mustTask(t, d, id)
		if want.Error != nil {
			want.Error.Op = got.Outcome.Error.Op // may stay behind
		}
		if diff := cmp.Diff(&want, got.Outcome); diff != "" || got.State != want.State || !got.Owed() {
			t.Errorf("ended as %s, owed %v: %s", got.State, got.Owed(), diff)
		}
		isNow(t, "the end", got.Times.Ended)
	}
	nothingDue(t, d, "what has ended")
}

func retriesTask(t *testing.T, d storage.Driver) {
	q := d.Stores().Queue
	mustCreateTask(t, d, newTask("a"))
	held := mustLease(t, d, "h", "a", time.Hour)
	at := time.Now().Add(time.Hour)
	if err := q.Retry(t.Context(), "a", held.Lease.Fence, at, "no network"); err != nil {
		t.Fatal(err)
	}
	got := mustTask(t, d, "a")
	if got.State != task.Queued || got.Progress != "no network" || got.Lease.Holder != "" || !got.RunAt.Equal(at) {
		t.Errorf("to be retried: %+v", got)
	}
	nothingDue(t, d, "what is to run later")
	mustCreateTask(t, d, newTask("b"))
	held = mustLease(t, d, "h", "b", time.Hour)
	if err := q.Retry(t.Context(), "b", held.Lease.Fence, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	if again := mustLease(t, d, "h", "b", time.Hour); again.Lease.Fence != 2 || again.Attempt != 2 {
		t.Errorf("again: %+v", again)
	}
}

// attemptsAreCounted: a task fails when its attempts are used up, be it that
// its holder gives it back or that its lease ends.
func attemptsAreCounted(t *testing.T, d storage.Driver) {
	q := d.Stores().Queue
	made := newTask("back")
	made.MaxAttempts = 2
	lost, endless := made, made
	lost.ID, endless.ID, endless.MaxAttempts = "lost", "endless", 0
	mustCreateTask(t, d, made, lost, endless)
	for range 2 {
		held := mustLease(t, d, "h", "back", time.Hour)
		if err := q.Retry(t.Context(), "back", held.Lease.Fence, time.Time{}, "no network"); err != nil {
			t.Fatal(err)
		}
		mustLease(t, d, "h", "lost", -time.Second)
	}
	for range 5 {
		mustLease(t, d, "h", "endless", -time.Second)
	}
	list, err := q.Lease(t.Context(), task.Request{Holder: "h", For: time.Hour, N: 9})
	if err != nil || !slices.Equal(ids(list), []string{"endless"}) {
		t.Errorf("leased %v, %v", ids(list), err)
	}
	for id, why := range map[string]string{"back": "no network", "lost": "2 attempts"} {
		got := mustTask(t, d, id)
		if got.State != task.Failed || got.Outcome == nil || !strings.Contains(got.Outcome.Summary, why) || !got.Owed() {
			t.Errorf("%s is %s: %+v", id, got.State, got.Outcome)
		}
	}
}

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
	s, q := d.Stores().Tasks, d.Stores().Queue
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
		if cancelled, err := q.Renew(t.Context(), id, fence[id], time.Hour, ""); err != nil || !cancelled {
			t.Errorf("its holder renews: %v, %v", cancelled, err)
		}
	}
	// Its holder may stop it, may have been faster, or may give it back.
	if err := q.End(t.Context(), "stops", fence["stops"], task.Outcome{State: task.Cancelled}); err != nil {
		t.Error(err)
	}
	if err := q.End(t.Context(), "ends", fence["ends"], task.Outcome{State: task.Done}); err != nil {
		t.Error(err)
	}
	if err := q.Retry(t.Context(), "returns", fence["returns"], time.Time{}, "no network"); err != nil {
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
	s, q := d.Stores().Tasks, d.Stores().Queue
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
	if _, err := q.Renew(t.Context(), "before", held.Lease.Fence, -time.Second, ""); err != nil { // and its holder is lost
		t.Fatal(err)
	}
	nothingDue(t, d, "what was to be cancelled")
	if got := mustTask(t, d, "before"); got.State != task.Cancelled || !got.Owed() {
		t.Errorf("a lease that ended then: %s", got.State)
	}
}

func cancelsEnded(t *testing.T, d storage.Driver) {
	mustCreateTask(t, d, newTask("a"))
	held := mustLease(t, d, "h", "a", time.Hour)
	if err := d.Stores().Queue.End(t.Context(), "a", held.Lease.Fence, task.Outcome{State: task.Done}); err != nil {
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

// leaseAtOnce: of holders that ask at once, each task has one.
func leaseAtOnce(t *testing.T, a, b storage.Driver) {
	const tasks, holders = 40, 8
	for n := range tasks {
		mustCreateTask(t, a, task.Task{ID: fmt.Sprint(n), Kind: "call"})
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	held := map[string][]string{}
	for h := range holders {
		q := []storage.Driver{a, b}[h%2].Stores().Queue
		wg.Go(func() {
			for {
				list, err := q.Lease(context.Background(), task.Request{Holder: fmt.Sprint(h), For: time.Hour, N: 3})
				if err != nil {
					t.Error(err)
				}
				if len(list) == 0 {
					return
				}
				mu.Lock()
				for _, got := range list {
					held[got.ID] = append(held[got.ID], got.Lease.Holder)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(held) != tasks {
		t.Errorf("%d of %d were leased", len(held), tasks)
	}
	for id, by := range held {
		if len(by) != 1 || mustTask(t, b, id).Lease.Holder != by[0] {
			t.Errorf("%s is held by %v", id, by)
		}
	}
}
