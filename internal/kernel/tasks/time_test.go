package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
)

// A task runs at its instant, whether it was there at the start or came later, and
// before a later one that was there first.
func TestDueToTheInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		began := time.Now()
		_, _, err := stores.Tasks.Create(t.Context(), task.Task{ID: "left", Kind: "k", RunAt: began.Add(47 * time.Minute)})
		ok(t, err)
		r, _ := open(t, stores, "k")
		ran := map[string]time.Duration{}
		r.Handle("k", func(_ context.Context, one *tasks.Run) task.Outcome {
			ran[one.ID] = time.Since(began)
			return done(`1`)
		})
		r.Run()
		<-time.After(3 * time.Second)
		_, err = r.Start(t.Context(), task.Task{ID: "soon", Kind: "k", RunAt: began.Add(7*time.Second + 5*time.Millisecond)})
		ok(t, err)
		if !r.InUse() {
			t.Error("a task waits for its time, and the runner is not in use")
		}
		<-time.After(time.Hour)
		synctest.Wait()
		want := map[string]time.Duration{"left": 47 * time.Minute, "soon": 7*time.Second + 5*time.Millisecond}
		if fmt.Sprint(ran) != fmt.Sprint(want) {
			t.Errorf("they ran at %v, want %v", ran, want)
		}
		if r.InUse() {
			t.Error("nothing waits, and the runner is in use")
		}
	})
}

// A task that gives itself back runs again at its time, with what it saved.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		r, _ := open(t, stores, "k")
		var at []time.Duration
		began := time.Now()
		r.Handle("k", func(ctx context.Context, one *tasks.Run) task.Outcome {
			at = append(at, time.Since(began))
			var n int
			if one.Data != nil {
				ok(t, json.Unmarshal(one.Data, &n))
			}
			one.Log(ctx, fmt.Sprint("run ", n), nil)
			if n == 3 {
				return done(`"enough"`)
			}
			ok(t, one.Save(ctx, n+1))
			one.Again(time.Now().Add(time.Minute), nil)
			return task.Outcome{}
		})
		r.Run()
		_, err := r.Start(t.Context(), task.Task{ID: "t1", Kind: "k", MaxAttempts: 1})
		ok(t, err)
		<-time.After(time.Hour)
		synctest.Wait()
		got := state(t, stores, "t1")
		entries, err := stores.TaskLogs.Entries(t.Context(), "t1", 0)
		ok(t, err)
		if fmt.Sprint(at) != "[0s 1m0s 2m0s 3m0s]" || got.State != task.Done || len(entries) != 4 || entries[3].Text != "run 3" {
			t.Errorf("it ran at %v: %+v, %v", at, got, entries)
		}
	})
}

// A task that fails for now is tried again, and has failed when its attempts are used up.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		var news []string
		r, _ := openWith(t, stores, tasks.Options{Holder: "k", Ended: func(t task.Task) { news = append(news, t.ID) }})
		runs := 0
		r.Handle("k", func(_ context.Context, one *tasks.Run) task.Outcome {
			runs++
			one.Retry(time.Now().Add(time.Minute), "no network")
			return task.Outcome{}
		})
		r.Run()
		_, err := r.Start(t.Context(), task.Task{ID: "t1", Kind: "k", Parent: "p", MaxAttempts: 3})
		ok(t, err)
		<-time.After(time.Hour)
		synctest.Wait()
		if got := state(t, stores, "t1"); got.State != task.Failed || runs != 3 || fmt.Sprint(news) != "[t1]" {
			t.Errorf("%+v after %d runs; %v was told", got, runs, news)
		}
	})
}

// The ends of tasks that have a parent are told, however they come; so are notices.
func TestEndsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		_, _, err := stores.Tasks.Create(t.Context(), task.Task{ID: "lost", Kind: "k", Parent: "p", MaxAttempts: 1})
		ok(t, err)
		_, _, err = stores.Queue.Lease(t.Context(), task.Request{Holder: "k", For: time.Hour})
		ok(t, err)
		news := map[string]task.State{}
		r, _ := openWith(t, stores, tasks.Options{Holder: "k", Ended: func(t task.Task) { news[t.ID] += t.State }})
		r.Handle("k", func(context.Context, *tasks.Run) task.Outcome { return done(`1`) })
		r.Run()
		start := func(id, parent string, at time.Duration) {
			_, err := r.Start(t.Context(), task.Task{ID: id, Kind: "k", Parent: parent, RunAt: time.Now().Add(at)})
			ok(t, err)
		}
		start("done", "p", 0)
		start("no parent", "", 0)
		start("later", "p", time.Hour)
		synctest.Wait()
		ok(t, r.Cancel(t.Context(), "later", "ada"))
		ok(t, r.Cancel(t.Context(), "later", "ada"))
		for range 2 {
			ok(t, r.Tell(t.Context(), task.Task{ID: "n1", Parent: "p", Outcome: &task.Outcome{State: task.Done, Summary: "news"}}))
		}
		if r.Tell(t.Context(), task.Task{ID: "n2", Outcome: &task.Outcome{State: task.Done}}) == nil ||
			r.Tell(t.Context(), task.Task{ID: "n2", Parent: "p"}) == nil ||
			r.Tell(t.Context(), task.Task{ID: "done", Parent: "p", Outcome: &task.Outcome{State: task.Done}}) == nil {
			t.Error("a notice for nobody, of nothing, or under an ID that is taken was stored")
		}
		synctest.Wait()
		want := map[string]task.State{"done": task.Done, "later": task.Cancelled, "lost": task.InDoubt, "n1": task.Done}
		if fmt.Sprint(news) != fmt.Sprint(want) {
			t.Errorf("told %v, want %v", news, want)
		}
		if r.InUse() {
			t.Error("it is kept by what is owed")
		}
	})
}
