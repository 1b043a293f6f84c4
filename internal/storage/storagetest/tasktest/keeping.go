package tasktest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"callgate/internal/storage"
	"callgate/internal/task"
)

// createsNotices: a task that has an outcome has ended, is owed, and is never run.
func createsNotices(t *testing.T, d storage.Driver) {
	notice := task.Task{
		ID: "w-1", Kind: task.Notice, Parent: "p", Label: "news",
		Outcome: &task.Outcome{State: task.Done, Summary: "it changed", Data: json.RawMessage(`{"n":1}`)},
	}
	made, fresh, err := d.Stores().Tasks.Create(t.Context(), notice)
	if err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	want := notice
	want.State = task.Done
	sameTask(t, "created", want, made)
	sameTask(t, "read again", want, mustTask(t, d, "w-1"))
	isNow(t, "the end", made.Times.Ended)
	if !made.Owed() {
		t.Error("it is not owed")
	}
	notice.Outcome = &task.Outcome{State: task.Done, Summary: "again"}
	if made, fresh, err = d.Stores().Tasks.Create(t.Context(), notice); err != nil || fresh {
		t.Errorf("a second time: %v, %v", fresh, err)
	}
	sameTask(t, "a second time", want, made)
	if err := d.Stores().Tasks.Cancel(t.Context(), "w-1", "ada"); err != nil {
		t.Error(err)
	}
	sameTask(t, "cancelled", want, mustTask(t, d, "w-1"))
	nothingDue(t, d, "a notice")
	if next, err := d.Stores().Queue.Next(t.Context(), "h"); err != nil || !next.IsZero() {
		t.Errorf("it is due at %v, %v", next, err)
	}
}

// nextDue: the earliest time of a kind, be it to run or the end of a lease.
func nextDue(t *testing.T, d storage.Driver) {
	base := time.Date(2040, 1, 2, 3, 4, 5, 6, time.UTC)
	next := func(kinds ...string) time.Time {
		t.Helper()
		at, err := d.Stores().Queue.Next(t.Context(), "me", kinds...)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	if at := next("call"); !at.IsZero() {
		t.Errorf("without tasks it is %v", at)
	}
	for i, kind := range []string{"watch", "call", "schedule", "call"} {
		at := base.Add(time.Duration(5-i) * time.Hour)
		mustCreateTask(t, d, task.Task{ID: fmt.Sprint(i), Kind: kind, RunAt: at})
	}
	mustCreateTask(t, d, task.Task{ID: "runs", Kind: "run"})
	held := mustLease(t, d, "h", "runs", time.Hour)
	mustCreateTask(t, d, task.Task{ID: "mine", Kind: "run"})
	mustLease(t, d, "me", "mine", time.Second) // what I hold is not given to me
	for name, tt := range map[string]struct {
		kinds []string
		want  time.Time
	}{
		"one kind":   {[]string{"call"}, base.Add(2 * time.Hour)},
		"two kinds":  {[]string{"watch", "schedule"}, base.Add(3 * time.Hour)},
		"no such":    {[]string{"none"}, time.Time{}},
		"what runs":  {[]string{"run"}, held.Lease.Until},
		"of any":     {nil, held.Lease.Until},
		"run or not": {[]string{"none", "watch"}, base.Add(5 * time.Hour)},
	} {
		if at := next(tt.kinds...); !at.Equal(tt.want) {
			t.Errorf("%s: %v, want %v", name, at, tt.want)
		}
	}
	if err := d.Stores().Leases.End(t.Context(), "runs", held.Lease.Fence, task.Outcome{State: task.Done}); err != nil {
		t.Fatal(err)
	}
	if at := next("run"); !at.IsZero() {
		t.Errorf("after its end it is due at %v", at)
	}
}

func savesData(t *testing.T, d storage.Driver) {
	l := d.Stores().Leases
	mustCreateTask(t, d, newTask("a"))
	held := mustLease(t, d, "h", "a", -time.Second)
	if err := l.Save(t.Context(), "a", held.Lease.Fence, json.RawMessage(`{"n":2}`)); err != nil {
		t.Fatal(err)
	}
	again := mustLease(t, d, "h2", "a", time.Hour) // its holder was lost
	if string(again.Data) != `{"n":2}` {
		t.Errorf("the next holder finds %s", again.Data)
	}
	if err := l.Save(t.Context(), "a", again.Lease.Fence, nil); err != nil {
		t.Fatal(err)
	}
	if got := mustTask(t, d, "a"); got.Data != nil {
		t.Errorf("nothing was saved, and %s is kept", got.Data)
	}
}

// runsAgain: a task gives itself back with new data, and its attempts begin anew.
func runsAgain(t *testing.T, d storage.Driver) {
	l := d.Stores().Leases
	made := newTask("a")
	made.MaxAttempts = 2
	mustCreateTask(t, d, made)
	for n := range 5 {
		mustLease(t, d, "lost", "a", -time.Second) // one attempt
		held := mustLease(t, d, "h", "a", time.Hour)
		if held.Attempt != 2 {
			t.Fatalf("run %d: attempt %d", n, held.Attempt)
		}
		data := json.RawMessage(fmt.Sprintf(`{"run":%d}`, n))
		if err := l.Again(t.Context(), "a", held.Lease.Fence, time.Now().Add(-time.Second), data); err != nil {
			t.Fatal(err)
		}
		got := mustTask(t, d, "a")
		if got.State != task.Queued || got.Attempt != 0 || string(got.Data) != string(data) || got.Lease.Holder != "" {
			t.Errorf("run %d: %+v", n, got)
		}
	}
	held := mustLease(t, d, "h", "a", time.Hour)
	at := time.Now().Add(time.Hour)
	if err := l.Again(t.Context(), "a", held.Lease.Fence, at, nil); err != nil {
		t.Fatal(err)
	}
	if got := mustTask(t, d, "a"); !got.RunAt.Equal(at) || string(got.Data) != `{"run":4}` {
		t.Errorf("without new data: %+v", got)
	}
	nothingDue(t, d, "what is to run later")
	mustCreateTask(t, d, newTask("b"))
	held = mustLease(t, d, "h", "b", time.Hour)
	if err := d.Stores().Tasks.Cancel(t.Context(), "b", "ada"); err != nil {
		t.Fatal(err)
	}
	if err := l.Again(t.Context(), "b", held.Lease.Fence, time.Time{}, nil); err != nil {
		t.Fatal(err)
	}
	if got := mustTask(t, d, "b"); got.State != task.Cancelled {
		t.Errorf("what was to be cancelled is %s", got.State)
	}
}

// releasesTask: a kernel that closes gives a task back, and that is no attempt.
func releasesTask(t *testing.T, d storage.Driver) {
	made := newTask("a")
	made.MaxAttempts = 1
	mustCreateTask(t, d, made)
	for range 3 {
		held := mustLease(t, d, "h", "a", time.Hour)
		if held.Attempt != 1 {
			t.Fatalf("attempt %d", held.Attempt)
		}
		if err := d.Stores().Leases.Release(t.Context(), "a", held.Lease.Fence); err != nil {
			t.Fatal(err)
		}
		if got := mustTask(t, d, "a"); got.State != task.Queued || got.Attempt != 0 || got.Lease.Holder != "" {
			t.Errorf("given back: %+v", got)
		}
	}
	held := mustLease(t, d, "h", "a", time.Hour)
	if err := d.Stores().Tasks.Cancel(t.Context(), "a", "ada"); err != nil {
		t.Fatal(err)
	}
	if err := d.Stores().Leases.Release(t.Context(), "a", held.Lease.Fence); err != nil {
		t.Fatal(err)
	}
	if got := mustTask(t, d, "a"); got.State != task.Cancelled {
		t.Errorf("what was to be cancelled is %s", got.State)
	}
}

// keepsLogs: the newest entries of each task, until the task is pruned.
func keepsLogs(t *testing.T, d storage.Driver) {
	logs := d.Stores().TaskLogs
	endAs(t, d, task.Task{ID: "a", Kind: "call"}, task.Done)
	mustCreateTask(t, d, task.Task{ID: "b", Kind: "call"})
	at := time.Date(2030, 3, 4, 5, 6, 7, 8, time.UTC)
	for n := range 10 {
		e := task.Entry{At: at.Add(time.Duration(n)), Text: fmt.Sprint("entry ", n), Data: json.RawMessage(`{"é":1}`)}
		if err := logs.Append(t.Context(), "a", e, 4); err != nil {
			t.Fatal(err)
		}
	}
	if err := logs.Append(t.Context(), "b", task.Entry{Text: "only"}, 4); err != nil {
		t.Fatal(err)
	}
	check := func(id string, n int, want ...string) {
		t.Helper()
		list, err := logs.Entries(t.Context(), id, n)
		var got []string
		for _, e := range list {
			got = append(got, e.Text)
		}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s has %v, %v, want %v", id, got, err, want)
		}
	}
	check("a", 0, "entry 6", "entry 7", "entry 8", "entry 9")
	check("a", 2, "entry 8", "entry 9")
	check("a", 9, "entry 6", "entry 7", "entry 8", "entry 9")
	check("b", 1, "only")
	list, err := logs.Entries(t.Context(), "a", 1)
	if err != nil || !list[0].At.Equal(at.Add(9)) || string(list[0].Data) != `{"é":1}` {
		t.Errorf("%+v, %v", list, err)
	}
	if n, err := d.Stores().Queue.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	mustCreateTask(t, d, task.Task{ID: "a", Kind: "call"})
	check("a", 0)
	check("b", 0, "only")
}
