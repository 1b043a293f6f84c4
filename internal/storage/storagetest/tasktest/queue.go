package tasktest

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
	first, _, err := d.Stores().Queue.Lease(t.Context(), task.Request{Holder: "h", For: time.Hour})
	if err != nil || !slices.Equal(ids(first), []string{"first"}) {
		t.Fatalf("one: %v, %v", ids(first), err)
	}
	rest, _, err := d.Stores().Queue.Lease(t.Context(), task.Request{Holder: "h", For: time.Hour, N: 10})
	if err != nil || !slices.Equal(ids(rest), []string{"second", "third", "fourth"}) {
		t.Fatalf("the rest that is due: %v, %v", ids(rest), err)
	}
	for _, got := range append(first, rest...) {
		if got.State != task.Running || got.Lease.Holder != "h" || got.Lease.Fence == 0 || got.Attempt != 1 {
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
		list, _, err := d.Stores().Queue.Lease(t.Context(), tt.request)
		if diff := cmp.Diff(tt.want, ids(list)); err != nil || diff != "" {
			t.Errorf("%+v: %v %s", tt.request, err, diff)
		}
	}
}

// leasesOwn tests that a holder need not wait for the leases of its former process.
func leasesOwn(t *testing.T, d storage.Driver) {
	mustCreateTask(t, d, newTask("mine"), newTask("mine too"), newTask("of another"))
	first := mustLease(t, d, "me", "mine", time.Hour)
	mustLease(t, d, "me", "mine too", time.Hour)
	mustLease(t, d, "another", "of another", time.Hour)
	lease := func(r task.Request) []string {
		t.Helper()
		r.Holder, r.For, r.N = "me", time.Hour, 10
		list, _, err := d.Stores().Queue.Lease(t.Context(), r)
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
	if got := mustTask(t, d, "mine"); got.Attempt != 2 || got.Lease.Fence <= first.Lease.Fence {
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
	mustCreateTask(t, d, newTask("a"))
	first := mustLease(t, d, "one", "a", -time.Second)
	renew(t, d, "a", first.Lease.Fence, -time.Second, "") // its holder was slow, and nobody else has it
	second := mustLease(t, d, "two", "a", time.Hour)
	if second.Lease.Fence <= first.Lease.Fence || second.Attempt != 2 || second.Lease.Holder != "two" {
		t.Errorf("leased again: %+v, attempt %d", second.Lease, second.Attempt)
	}
	if !second.Times.Started.Equal(first.Times.Started) {
		t.Errorf("it started at %v, and then at %v", first.Times.Started, second.Times.Started)
	}
	lost(t, d, "the first holder comes back", "a", first.Lease.Fence)
	sameTask(t, "the second holder's", second, mustTask(t, d, "a"))
}

// leavesOwnAlone: a holder that renews too late, as after the machine slept, still runs
// its tasks: it is not given them again, and they are not ended.
func leavesOwnAlone(t *testing.T, d storage.Driver) {
	once := newTask("once")
	once.MaxAttempts = 1
	mustCreateTask(t, d, newTask("a"), once)
	held := mustLease(t, d, "me", "a", -time.Hour)
	mustLease(t, d, "me", "once", -time.Hour)
	for _, r := range []task.Request{{N: 9}, {ID: "a"}, {Own: true, Runs: []string{"once", "a"}}} {
		r.Holder, r.For = "me", time.Hour
		if leased, ended, err := d.Stores().Queue.Lease(t.Context(), r); err != nil || len(leased)+len(ended) > 0 {
			t.Errorf("%+v: leased %v, ended %v, %v", r, ids(leased), ids(ended), err)
		}
	}
	renew(t, d, "a", held.Lease.Fence, time.Hour, "")
	if got := mustTask(t, d, "once"); got.State != task.Running {
		t.Errorf("it is %s", got.State)
	}
	leased, ended, err := d.Stores().Queue.Lease(t.Context(), task.Request{Holder: "another", For: time.Hour, N: 9})
	if err != nil || len(leased) != 0 || !slices.Equal(ids(ended), []string{"once"}) {
		t.Errorf("another: leased %v, ended %v, %v", ids(leased), ids(ended), err)
	}
}

// staleFence: a holder that was replaced changes nothing, and neither does one
// that never held the task, or whose task has ended.
func staleFence(t *testing.T, d storage.Driver) {
	l, ctx := d.Stores().Leases, t.Context()
	mustCreateTask(t, d, newTask("queued"), newTask("held"), newTask("ended"))
	first := mustLease(t, d, "one", "held", -time.Second).Lease.Fence
	second := mustLease(t, d, "two", "held", time.Hour).Lease.Fence
	done := mustLease(t, d, "one", "ended", time.Hour).Lease.Fence
	if err := l.End(ctx, "ended", done, task.Outcome{State: task.Done, Summary: "well"}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		id    string
		fence uint64
	}{
		{"queued", 0}, {"queued", first}, {"held", first}, {"held", second + 100}, {"held", 0},
		{"ended", done}, {"ended", done + 1},
	} {
		before := mustTask(t, d, tt.id)
		what := fmt.Sprintf("%s with fence %d", tt.id, tt.fence)
		lost(t, d, "renew "+what, tt.id, tt.fence)
		for name, err := range map[string]error{
			"end":     l.End(ctx, tt.id, tt.fence, task.Outcome{State: task.Failed}),
			"retry":   l.Retry(ctx, tt.id, tt.fence, time.Time{}, "changed"),
			"again":   l.Again(ctx, tt.id, tt.fence, time.Time{}, json.RawMessage(`"changed"`)),
			"save":    l.Save(ctx, tt.id, tt.fence, json.RawMessage(`"changed"`)),
			"release": l.Release(ctx, tt.id, tt.fence),
		} {
			isKind(t, name+" "+what, err, tool.Conflict)
		}
		if diff := cmp.Diff(before, mustTask(t, d, tt.id)); diff != "" {
			t.Errorf("%s changed it: %s", what, diff)
		}
	}
}

// renewsLeases: all in one go, and one that is lost does not keep the others from it.
func renewsLeases(t *testing.T, d storage.Driver) {
	q := d.Stores().Queue
	mustCreateTask(t, d, newTask("a"), newTask("b"), newTask("c"))
	a := mustLease(t, d, "h", "a", -time.Second)
	b := mustLease(t, d, "h", "b", time.Hour)
	if err := d.Stores().Tasks.Cancel(t.Context(), "b", "ada"); err != nil {
		t.Fatal(err)
	}
	found, err := q.Renew(t.Context(), []task.Renewal{
		{ID: "c", Fence: 1}, {ID: "a", Fence: a.Lease.Fence, Progress: "half way"}, {ID: "none", Fence: 3},
		{ID: "b", Fence: b.Lease.Fence},
	}, time.Hour)
	want := task.Renewed{Cancelled: []string{"b"}, Lost: []string{"c", "none"}}
	if diff := cmp.Diff(want, found); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	got := mustTask(t, d, "a")
	if got.Progress != "half way" || got.Lease.Fence != a.Lease.Fence || got.Attempt != 1 {
		t.Errorf("renewed: %+v", got)
	}
	isNow(t, "an hour before the lease's end", got.Lease.Until.Add(-time.Hour))
	if renew(t, d, "a", a.Lease.Fence, time.Hour, "") {
		t.Error("it is to be cancelled")
	}
	if got := mustTask(t, d, "a").Progress; got != "half way" {
		t.Errorf("a renewal without progress left %q", got)
	}
	if _, err := q.Renew(t.Context(), nil, time.Hour); err != nil {
		t.Errorf("no lease: %v", err)
	}
	mustLease(t, d, "h", "c", time.Hour)
	nothingDue(t, d, "a renewed task")
}

func endsTask(t *testing.T, d storage.Driver) {
	l := d.Stores().Leases
	for i, want := range []task.Outcome{
		{State: task.Done, Summary: "é", Data: json.RawMessage(`{"n":1}`), ArtifactRef: "sha256:x"},
		{State: task.Failed, Error: &tool.Error{Op: "x", Kind: tool.Denied, Message: "no", Hint: "ask"}},
		{State: task.Cancelled, Summary: "stopped"},
		{State: task.InDoubt, Summary: "who knows"},
	} {
		id := fmt.Sprint(i)
		mustCreateTask(t, d, newTask(id))
		held := mustLease(t, d, "h", id, -time.Second)
		if err := l.End(t.Context(), id, held.Lease.Fence, want); err != nil {
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
	l := d.Stores().Leases
	mustCreateTask(t, d, newTask("a"))
	held := mustLease(t, d, "h", "a", time.Hour)
	at := time.Now().Add(time.Hour)
	if err := l.Retry(t.Context(), "a", held.Lease.Fence, at, "no network"); err != nil {
		t.Fatal(err)
	}
	got := mustTask(t, d, "a")
	if got.State != task.Queued || got.Progress != "no network" || got.Lease.Holder != "" || !got.RunAt.Equal(at) {
		t.Errorf("to be retried: %+v", got)
	}
	nothingDue(t, d, "what is to run later")
	mustCreateTask(t, d, newTask("b"))
	held = mustLease(t, d, "h", "b", time.Hour)
	if err := l.Retry(t.Context(), "b", held.Lease.Fence, time.Time{}, ""); err != nil {
		t.Fatal(err)
	}
	if again := mustLease(t, d, "h", "b", time.Hour); again.Lease.Fence <= held.Lease.Fence || again.Attempt != 2 {
		t.Errorf("again: %+v", again)
	}
}

// attemptsAreCounted: when its attempts are used up, a task that its holder gives back
// has failed, and one whose holder is lost is in doubt.
func attemptsAreCounted(t *testing.T, d storage.Driver) {
	q := d.Stores().Queue
	made := newTask("back")
	made.MaxAttempts = 2
	left, endless := made, made
	left.ID, endless.ID, endless.MaxAttempts = "lost", "endless", 0
	mustCreateTask(t, d, made, left, endless)
	for n := range 2 {
		held := mustLease(t, d, "h", "back", time.Hour)
		err := d.Stores().Leases.Retry(t.Context(), "back", held.Lease.Fence, time.Time{}, "no network")
		if err != nil {
			t.Fatal(err)
		}
		mustLease(t, d, fmt.Sprint("h", n), "lost", -time.Second)
	}
	for n := range 5 {
		r := task.Request{Holder: fmt.Sprint("h", n%2), ID: "endless", For: -time.Second}
		if leased, ended, err := q.Lease(t.Context(), r); err != nil || len(leased) != 1 || len(ended) != 0 {
			t.Fatalf("leased %v, ended %v, %v", ids(leased), ids(ended), err)
		}
	}
	// By its ID too it ends, and is not leased.
	leased, ended, err := q.Lease(t.Context(), task.Request{Holder: "h", ID: "lost", For: time.Hour})
	if err != nil || len(leased) != 0 || !slices.Equal(ids(ended), []string{"lost"}) {
		t.Fatalf("leased %v, ended %v, %v", ids(leased), ids(ended), err)
	}
	sameTask(t, "as it was reported", mustTask(t, d, "lost"), ended[0])
	leased, ended, err = q.Lease(t.Context(), task.Request{Holder: "h", For: time.Hour, N: 9})
	if err != nil || !slices.Equal(ids(leased), []string{"endless"}) || len(ended) != 0 {
		t.Errorf("leased %v, ended %v, %v", ids(leased), ids(ended), err)
	}
	for id, want := range map[string]struct {
		state task.State
		why   string
	}{"back": {task.Failed, "no network"}, "lost": {task.InDoubt, "attempt 2 of 2"}} {
		got := mustTask(t, d, id)
		if got.State != want.state || got.Outcome == nil || !strings.Contains(got.Outcome.Summary, want.why) || !got.Owed() {
			t.Errorf("%s is %s: %+v", id, got.State, got.Outcome)
		}
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
				list, _, err := q.Lease(context.Background(), task.Request{Holder: fmt.Sprint(h), For: time.Hour, N: 3})
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
