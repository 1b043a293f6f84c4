package tasktest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/storage"
	"callgate/internal/task"
	"callgate/tool"
)

// newTask makes a task with every field that a client sets.
func newTask(id string) task.Task {
	return task.Task{
		ID: id, Kind: "conversation", Parent: "parent", Label: "a <line>",
		Asker: task.Asker{
			Principal: tool.Principal{User: "ada", App: "notes", Agent: "main", Session: "s1", Lane: "core"},
			Workspace: "/home/ada/notes", AppFile: "callgate.yaml", PID: 42, Human: true, Call: "s1-1-1",
			Root: 7, Sessions: []int{8, 9}, Profile: "reader", Only: map[string][]string{"fs": {"read"}},
		},
		Input: json.RawMessage(`{"prompt":"<é> & \u0000"}`), MaxAttempts: 5,
		Data: json.RawMessage(`{"n":1}`),
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
func mustLease(t *testing.T, d storage.Driver, holder, id string, lasts time.Duration) task.Task {
	t.Helper()
	list, _, err := d.Stores().Queue.Lease(t.Context(), task.Request{Holder: holder, ID: id, For: lasts})
	if err != nil || len(list) != 1 || list[0].ID != id {
		t.Fatalf("leasing %s gave %v, %v", id, ids(list), err)
	}
	return list[0]
}

// nothingDue checks that no task can be leased.
func nothingDue(t *testing.T, d storage.Driver, what string) {
	t.Helper()
	list, _, err := d.Stores().Queue.Lease(t.Context(), task.Request{Holder: "another", For: time.Hour, N: 10})
	if err != nil || len(list) != 0 {
		t.Errorf("%s was leased: %v, %v", what, ids(list), err)
	}
}

// renew renews one lease, which must not be lost, and returns whether its task is to be
// cancelled.
func renew(t *testing.T, d storage.Driver, id string, fence uint64, lasts time.Duration, progress string) bool {
	t.Helper()
	lease := task.Renewal{ID: id, Fence: fence, Progress: progress}
	found, err := d.Stores().Queue.Renew(t.Context(), []task.Renewal{lease}, lasts)
	if err != nil || len(found.Lost) > 0 {
		t.Fatalf("renewing %s: %+v, %v", id, found, err)
	}
	return len(found.Cancelled) == 1
}

// lost checks that a lease is over.
func lost(t *testing.T, d storage.Driver, what, id string, fence uint64) {
	t.Helper()
	lease := task.Renewal{ID: id, Fence: fence, Progress: "changed"}
	found, err := d.Stores().Queue.Renew(t.Context(), []task.Renewal{lease}, time.Hour)
	if err != nil || len(found.Lost) != 1 {
		t.Errorf("%s: %+v, %v", what, found, err)
	}
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
	forged.CancelledBy, forged.Progress = "x", "x"
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
	s, l, ctx := d.Stores().Tasks, d.Stores().Leases, t.Context()
	_, err := s.Get(ctx, "none")
	isKind(t, "get", err, tool.NotFound)
	isKind(t, "cancel", s.Cancel(ctx, "none", "ada"), tool.NotFound)
	isKind(t, "told", s.Told(ctx, "none"), tool.NotFound)
	lost(t, d, "renew", "none", 1)
	isKind(t, "save", l.Save(ctx, "none", 1, nil), tool.NotFound)
	isKind(t, "end", l.End(ctx, "none", 1, task.Outcome{State: task.Done}), tool.NotFound)
	isKind(t, "retry", l.Retry(ctx, "none", 1, time.Time{}, ""), tool.NotFound)
	isKind(t, "again", l.Again(ctx, "none", 1, time.Time{}, nil), tool.NotFound)
	isKind(t, "release", l.Release(ctx, "none", 1), tool.NotFound)
	isKind(t, "log", d.Stores().TaskLogs.Append(ctx, "none", task.Entry{Text: "x"}, 5), tool.NotFound)
	_, err = d.Stores().TaskLogs.Entries(ctx, "none", 5)
	isKind(t, "entries", err, tool.NotFound)
	_, err = s.List(ctx, task.Query{After: "none"})
	isKind(t, "list after", err, tool.NotFound)
	nothingDue(t, d, "nothing")
}

func refusesBadTasks(t *testing.T, d storage.Driver) {
	for name, bad := range map[string]task.Task{
		"no ID": {Kind: "call"}, "no kind": {ID: "a"}, "no JSON": {ID: "a", Kind: "call", Input: json.RawMessage("{")},
		"no data": {ID: "a", Kind: "call", Data: json.RawMessage("{")},
		"no end":  {ID: "a", Kind: "call", Outcome: &task.Outcome{State: task.Running}},
	} {
		_, _, err := d.Stores().Tasks.Create(t.Context(), bad)
		isKind(t, name, err, tool.Invalid)
	}
	mustCreateTask(t, d, newTask("a"))
	held := mustLease(t, d, "h", "a", time.Hour)
	for _, o := range []task.Outcome{{}, {State: task.Running}, {State: task.Done, Data: json.RawMessage("{")}} {
		isKind(t, "an outcome that is none", d.Stores().Leases.End(t.Context(), "a", held.Lease.Fence, o), tool.Invalid)
	}
	bad := json.RawMessage("{")
	isKind(t, "data that is none", d.Stores().Leases.Save(t.Context(), "a", held.Lease.Fence, bad), tool.Invalid)
	isKind(t, "again with data that is none",
		d.Stores().Leases.Again(t.Context(), "a", held.Lease.Fence, time.Time{}, bad), tool.Invalid)
	sameTask(t, "after refused ends", held, mustTask(t, d, "a"))
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
	if err := d.Stores().Leases.End(t.Context(), made.ID, held.Lease.Fence, task.Outcome{State: state}); err != nil {
		t.Fatal(err)
	}
}

func listsTasks(t *testing.T, d storage.Driver) {
	for _, made := range []struct {
		id, kind, parent, session string
		state                     task.State
	}{
		{"d", "call", "p", "s", task.Done}, {"b", "call", "p", "s", task.Queued}, {"c", "watch", "p", "r", task.Failed},
		{"a", "call", "q", "", task.Cancelled}, {"e", "watch", "", "s", task.Done}, {"f", "watch", "q", "r", task.Running},
		{"g", "poll", "", "", task.InDoubt},
	} {
		asker := task.Asker{Principal: tool.Principal{Session: made.session}}
		endAs(t, d, task.Task{ID: made.id, Kind: made.kind, Parent: made.parent, Asker: asker}, made.state)
	}
	if err := d.Stores().Tasks.Told(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		query task.Query
		want  []string
	}{
		{task.Query{}, []string{"d", "b", "c", "a", "e", "f", "g"}},
		{task.Query{Newest: true, Limit: 3}, []string{"g", "f", "e"}},
		{task.Query{Newest: true, After: "e"}, []string{"a", "c", "b", "d"}},
		{task.Query{Active: true}, []string{"b", "f"}},
		{task.Query{Active: true, Newest: true}, []string{"f", "b"}},
		{task.Query{Active: true, Parent: "p"}, []string{"b"}},
		{task.Query{Active: true, Session: "r"}, []string{"f"}},
		{task.Query{Active: true, Session: "r", Parent: "p"}, nil},
		{task.Query{Active: true, State: task.Done}, nil},
		{task.Query{Active: true, Owed: true}, nil},
		{task.Query{Session: "s"}, []string{"d", "b", "e"}},
		{task.Query{Session: "s", Kinds: []string{"call"}, Newest: true}, []string{"b", "d"}},
		{task.Query{State: task.InDoubt}, []string{"g"}},
		{task.Query{Kinds: []string{"poll", "watch"}}, []string{"c", "e", "f", "g"}},
		{task.Query{Limit: 2}, []string{"d", "b"}},
		{task.Query{After: "c"}, []string{"a", "e", "f", "g"}},
		{task.Query{Parent: "p"}, []string{"d", "b", "c"}},
		{task.Query{Parent: "none"}, nil},
		{task.Query{Kinds: []string{"watch"}}, []string{"c", "e", "f"}},
		{task.Query{State: task.Done}, []string{"d", "e"}},
		{task.Query{State: task.Running, Kinds: []string{"watch"}}, []string{"f"}},
		{task.Query{Owed: true}, []string{"d", "c"}},
		{task.Query{Owed: true, Parent: "p", Kinds: []string{"call"}}, []string{"d"}},
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
		t.Skip("left out by -short: it makes a thousand tasks")
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

func tasksPersist(t *testing.T, open Open) {
	var fence uint64
	place := t.TempDir()
	for n := range 3 {
		d := open(t, place)
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
		if got.Lease.Fence <= fence || got.Attempt != n+1 {
			t.Errorf("start %d: fence %d after %d, attempt %d", n, got.Lease.Fence, fence, got.Attempt)
		}
		fence = got.Lease.Fence
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
