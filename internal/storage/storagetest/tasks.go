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

// Tasks tests a driver's task.Store and task.Queue. A lease that is not for a
// positive time has ended at once, so nothing here waits for a clock.
func Tasks(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, storage.Driver){
		"RoundTrip":       taskRoundTrip,
		"CreateTwice":     createsTaskOnce,
		"NotFound":        taskNotFound,
		"Refuses":         refusesBadTasks,
		"LeaseOrder":      leasesInOrder,
		"LeaseFilters":    leasesByKindAndID,
		"LeaseEnds":       leaseEnds,
		"StaleFence":      staleFence,
		"Renew":           renewsLease,
		"End":             endsTask,
		"Retry":           retriesTask,
		"Attempts":        attemptsAreCounted,
		"CancelQueued":    cancelsQueued,
		"CancelRunning":   cancelsRunning,
		"CancelAbandoned": cancelsAbandoned,
		"CancelEnded":     cancelsEnded,
		"Lists":           listsTasks,
		"Pages":           listsTasksInPages,
		"Told":            tellsOnce,
		"Prune":           prunesTasks,
		"OneHolder":       func(t *testing.T, d storage.Driver) { leaseAtOnce(t, d, d) },
	})
	t.Run("Persists", func(t *testing.T) { tasksPersist(t, open) })
}

// newTask makes a task with every field that a client sets.
func newTask(id string) task.Task {
	return task.Task{
		ID: id, Kind: "conversation", Parent: "parent",
		Asker: task.Asker{
			Principal: tool.Principal{User: "ada", App: "notes", Agent: "main", Session: "s1", Lane: "core"},
			Workspace: "/home/ada/notes", AppFile: "callgate.yaml", PID: 42, Human: true,
		},
		Input: json.RawMessage(`{"prompt":"<é> & \u0000"}`), MaxAttempts: 5,
	}
}

func mustCreateTask(t *testing.T, d storage.Driver, tasks ...task.Task) {
	t.Helper()
	for _, made := range tasks {
		if _, fresh, err := d.Stores().Tasks.Create(t.Context(), made); err != nil || !fresh {
			t.Fatalf("%s: %v, %v", made.ID, fresh, err)
		}
	}
}

func mustTask(t *testing.T, d storage.Driver, id string) task.Task {
	t.Helper()
	got, err := d.Stores().Tasks.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// mustLease leases one task, which must be the one of that ID.
func mustLease(t *testing.T, d storage.Driver, holder, id string, d2 time.Duration) task.Task {
	t.Helper()
	list, err := d.Stores().Queue.Lease(t.Context(), task.Request{Holder: holder, ID: id, For: d2})
	if err != nil || len(list) != 1 || list[0].ID != id {
		t.Fatalf("leasing %s gave %v, %v", id, ids(list), err)
	}
	return list[0]
}

func ids(list []task.Task) []string {
	var names []string
	for _, one := range list {
		names = append(names, one.ID)
	}
	return names
}

// sameTask compares tasks, but for their times, which are the store's.
func sameTask(t *testing.T, what string, want, got task.Task) {
	t.Helper()
	got.Times, want.Times = task.Times{}, task.Times{}
	got.RunAt, want.RunAt = time.Time{}, time.Time{}
	got.Lease.Until, want.Lease.Until = time.Time{}, time.Time{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

func isNow(t *testing.T, what string, at time.Time) {
	t.Helper()
	if age := time.Since(at); age > time.Minute || age < -time.Minute {
		t.Errorf("%s is %v, and not now", what, at)
	}
}

func taskRoundTrip(t *testing.T, d storage.Driver) {
	forged := newTask("'; --")
	forged.State, forged.Attempt, forged.Lease = task.Done, 7, task.Lease{Holder: "x", Fence: 9}
	forged.Outcome, forged.CancelledBy, forged.Progress = &task.Outcome{State: task.Done}, "x", "x"
	forged.Times = task.Times{Ended: time.Now(), Told: time.Now()}
	made, fresh, err := d.Stores().Tasks.Create(t.Context(), forged)
	if err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	want := newTask("'; --")
	want.State = task.Queued
	sameTask(t, "created", want, made)
	sameTask(t, "read again", want, mustTask(t, d, "'; --"))
	isNow(t, "the creation", made.Times.Created)
	isNow(t, "the time to run", made.RunAt)
	at := time.Date(2030, 3, 4, 5, 6, 7, 891234567, time.UTC)
	mustCreateTask(t, d, task.Task{ID: "bare", Kind: "call", RunAt: at})
	bare := mustTask(t, d, "bare")
	if !bare.RunAt.Equal(at) {
		t.Errorf("it is to run at %v, want %v", bare.RunAt, at)
	}
	sameTask(t, "without anything", task.Task{ID: "bare", Kind: "call", State: task.Queued}, bare)
}

func createsTaskOnce(t *testing.T, d storage.Driver) {
	mustCreateTask(t, d, newTask("a"))
	held := mustLease(t, d, "h", "a", time.Hour)
	other := newTask("a")
	other.Kind, other.Input = "call", json.RawMessage(`{}`)
	got, fresh, err := d.Stores().Tasks.Create(t.Context(), other)
	if err != nil || fresh {
		t.Fatalf("a second time: %v, %v", fresh, err)
	}
	sameTask(t, "as it stands", held, got)
	var wg sync.WaitGroup
	fresher := make(chan bool, 16)
	for range 16 {
		wg.Go(func() {
			_, fresh, err := d.Stores().Tasks.Create(context.Background(), newTask("b"))
			if err != nil {
				t.Error(err)
			}
			fresher <- fresh
		})
	}
	wg.Wait()
	close(fresher)
	made := 0
	for fresh := range fresher {
		if fresh {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d of 16 created it", made)
	}
}

func taskNotFound(t *testing.T, d storage.Driver) {
	s, q, ctx := d.Stores().Tasks, d.Stores().Queue, t.Context()
	_, err := s.Get(ctx, "none")
	isKind(t, "get", err, tool.NotFound)
	isKind(t, "cancel", s.Cancel(ctx, "none", "ada"), tool.NotFound)
	isKind(t, "told", s.Told(ctx, "none"), tool.NotFound)
	_, err = q.Renew(ctx, "none", 1, time.Hour, "")
	isKind(t, "renew", err, tool.NotFound)
	isKind(t, "end", q.End(ctx, "none", 1, task.Outcome{State: task.Done}), tool.NotFound)
	isKind(t, "retry", q.Retry(ctx, "none", 1, time.Time{}, ""), tool.NotFound)
	_, err = s.List(ctx, task.Query{After: "none"})
	isKind(t, "list after", err, tool.NotFound)
	if list, err := q.Lease(ctx, task.Request{Holder: "h", For: time.Hour, N: 10}); err != nil || len(list) != 0 {
		t.Errorf("leased %v, %v", ids(list), err)
	}
}

func refusesBadTasks(t *testing.T, d storage.Driver) {
	for name, bad := range map[string]task.Task{
		"no ID": {Kind: "call"}, "no kind": {ID: "a"}, "no JSON": {ID: "a", Kind: "call", Input: json.RawMessage("{")},
	} {
		_, _, err := d.Stores().Tasks.Create(t.Context(), bad)
		isKind(t, name, err, tool.Invalid)
	}
	mustCreateTask(t, d, newTask("a"))
	held := mustLease(t, d, "h", "a", time.Hour)
	for _, o := range []task.Outcome{{}, {State: task.Running}, {State: task.Done, Data: json.RawMessage("{")}} {
		isKind(t, "an outcome that is none", d.Stores().Queue.End(t.Context(), "a", held.Lease.Fence, o), tool.Invalid)
	}
	sameTask(t, "after refused ends", held, mustTask(t, d, "a"))
}

func leasesInOrder(t *testing.T, d storage.Driver) {
	now := time.Now()
	for _, made := range []struct {
		id  string
		ago time.Duration
	}{{"third", time.Minute}, {"first", time.Hour}, {"later", -time.Hour}, {"second", 2 * time.Minute}, {"fourth", time.Minute}} {
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
	if list, err := d.Stores().Queue.Lease(t.Context(), task.Request{Holder: "h2", For: time.Hour, N: 10}); err != nil || len(list) != 0 {
		t.Errorf("what is held or not due was leased: %v, %v", ids(list), err)
	}
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
	list, err := q.Lease(t.Context(), task.Request{Holder: "h2", For: time.Hour})
	if err != nil || len(list) != 0 {
		t.Errorf("a renewed task was leased: %v, %v", ids(list), err)
	}
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
	if list, err := q.Lease(t.Context(), task.Request{Holder: "h", For: time.Hour, N: 9}); err != nil || len(list) != 0 {
		t.Errorf("what has ended was leased: %v, %v", ids(list), err)
	}
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
	if list, err := q.Lease(t.Context(), task.Request{Holder: "h", For: time.Hour}); err != nil || len(list) != 0 {
		t.Errorf("it was leased before its time: %v, %v", ids(list), err)
	}
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
	if list, err := q.Lease(t.Context(), task.Request{Holder: "h", For: time.Hour, N: 9}); err != nil || !slices.Equal(ids(list), []string{"endless"}) {
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
	if got.State != task.Cancelled || got.CancelledBy != "ada" || got.Outcome == nil || got.Outcome.State != task.Cancelled || !got.Owed() {
		t.Errorf("cancelled: %+v", got)
	}
	isNow(t, "the end", got.Times.Ended)
	if list, err := d.Stores().Queue.Lease(t.Context(), task.Request{Holder: "h", For: time.Hour}); err != nil || len(list) != 0 {
		t.Errorf("it was leased: %v, %v", ids(list), err)
	}
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
	if list, err := q.Lease(t.Context(), task.Request{Holder: "h2", For: time.Hour}); err != nil || len(list) != 0 {
		t.Errorf("leased %v, %v", ids(list), err)
	}
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

// endAs brings a new task to a state.
func endAs(t *testing.T, d storage.Driver, made task.Task, state task.State) {
	t.Helper()
	mustCreateTask(t, d, made)
	if state == task.Queued {
		return
	}
	held := mustLease(t, d, "h", made.ID, time.Hour)
	if state == task.Running {
		return
	}
	if err := d.Stores().Queue.End(t.Context(), made.ID, held.Lease.Fence, task.Outcome{State: state}); err != nil {
		t.Fatal(err)
	}
}

func listsTasks(t *testing.T, d storage.Driver) {
	for _, made := range []struct {
		id, kind, parent string
		state            task.State
	}{
		{"d", "call", "p", task.Done}, {"b", "call", "p", task.Queued}, {"c", "watch", "p", task.Failed},
		{"a", "call", "q", task.Cancelled}, {"e", "watch", "", task.Done}, {"f", "watch", "q", task.Running},
	} {
		endAs(t, d, task.Task{ID: made.id, Kind: made.kind, Parent: made.parent}, made.state)
	}
	if err := d.Stores().Tasks.Told(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		query task.Query
		want  []string
	}{
		{task.Query{}, []string{"d", "b", "c", "a", "e", "f"}},
		{task.Query{Limit: 2}, []string{"d", "b"}},
		{task.Query{After: "c"}, []string{"a", "e", "f"}},
		{task.Query{Parent: "p"}, []string{"d", "b", "c"}},
		{task.Query{Parent: "none"}, nil},
		{task.Query{Kind: "watch"}, []string{"c", "e", "f"}},
		{task.Query{State: task.Done}, []string{"d", "e"}},
		{task.Query{State: task.Running, Kind: "watch"}, []string{"f"}},
		{task.Query{Owed: true}, []string{"d", "c"}},
		{task.Query{Owed: true, Parent: "p", Kind: "call"}, []string{"d"}},
		{task.Query{Owed: true, Parent: "q"}, nil},
		{task.Query{Owed: true, After: "d", Limit: 5}, []string{"c"}},
	} {
		list, err := d.Stores().Tasks.List(t.Context(), tt.query)
		if diff := cmp.Diff(tt.want, ids(list)); err != nil || diff != "" {
			t.Errorf("%+v: %v %s", tt.query, err, diff)
		}
	}
}

func listsTasksInPages(t *testing.T, d storage.Driver) {
	if testing.Short() {
		t.Skip("it makes a thousand tasks")
	}
	for n := range task.MaxList + 3 {
		if _, _, err := d.Stores().Tasks.Create(t.Context(), task.Task{ID: fmt.Sprint(n), Kind: "call"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{0, task.MaxList + 1} {
		list, err := d.Stores().Tasks.List(t.Context(), task.Query{Limit: limit})
		if err != nil || len(list) != task.MaxList {
			t.Fatalf("limit %d gives %d, %v", limit, len(list), err)
		}
		rest, err := d.Stores().Tasks.List(t.Context(), task.Query{After: list[len(list)-1].ID})
		if err != nil || len(rest) != 3 {
			t.Fatalf("the next page has %d, %v", len(rest), err)
		}
	}
}

func tellsOnce(t *testing.T, d storage.Driver) {
	s := d.Stores().Tasks
	endAs(t, d, newTask("a"), task.Done)
	endAs(t, d, newTask("b"), task.Failed)
	endAs(t, d, newTask("runs"), task.Running)
	isKind(t, "one has not ended", s.Told(t.Context(), "a", "runs"), tool.Conflict)
	isKind(t, "one is absent", s.Told(t.Context(), "a", "none"), tool.NotFound)
	if got := mustTask(t, d, "a"); !got.Owed() {
		t.Error("a refused Told noted one of them")
	}
	if err := s.Told(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	told := mustTask(t, d, "a")
	isNow(t, "the telling", told.Times.Told)
	if err := s.Told(t.Context(), "b", "a", "a"); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if diff := cmp.Diff(told, mustTask(t, d, "a")); diff != "" {
		t.Error(diff)
	}
	if err := s.Told(t.Context()); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

func prunesTasks(t *testing.T, d storage.Driver) {
	q := d.Stores().Queue
	alone := newTask("alone")
	alone.Parent = ""
	endAs(t, d, alone, task.Done)
	endAs(t, d, newTask("owed"), task.Done)
	endAs(t, d, newTask("told"), task.Done)
	endAs(t, d, newTask("queued"), task.Queued)
	endAs(t, d, newTask("runs"), task.Running)
	if err := d.Stores().Tasks.Told(t.Context(), "told"); err != nil {
		t.Fatal(err)
	}
	if n, err := q.Prune(t.Context(), time.Now().Add(-time.Hour)); err != nil || n != 0 {
		t.Errorf("%d were pruned too early, %v", n, err)
	}
	if n, err := q.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 2 {
		t.Errorf("%d were pruned, %v", n, err)
	}
	list, err := d.Stores().Tasks.List(t.Context(), task.Query{})
	if diff := cmp.Diff([]string{"owed", "queued", "runs"}, ids(list)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
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

func tasksPersist(t *testing.T, open Open) {
	var fence uint64
	reopen(t, open, func(t *testing.T, n int, d storage.Driver) {
		if n == 0 {
			mustCreateTask(t, d, newTask("runs"), newTask("waits"))
			endAs(t, d, newTask("ended"), task.Done)
		}
		list, err := d.Stores().Tasks.List(t.Context(), task.Query{})
		if diff := cmp.Diff([]string{"runs", "waits", "ended"}, ids(list)); err != nil || diff != "" {
			t.Errorf("start %d: %v %s", n, err, diff)
		}
		owed, err := d.Stores().Tasks.List(t.Context(), task.Query{Owed: true, Parent: "parent"})
		if err != nil || !slices.Equal(ids(owed), []string{"ended"}) {
			t.Errorf("start %d: %v is owed, %v", n, ids(owed), err)
		}
		got := mustLease(t, d, fmt.Sprint("start ", n), "runs", -time.Second)
		if got.Lease.Fence != fence+1 || got.Attempt != n+1 {
			t.Errorf("start %d: fence %d after %d, attempt %d", n, got.Lease.Fence, fence, got.Attempt)
		}
		fence = got.Lease.Fence
	})
}
