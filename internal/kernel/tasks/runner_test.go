package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/kernel/background"
	"callgate/internal/kernel/tasks"
	"callgate/internal/storage"
	"callgate/internal/storage/sqlite"
	"callgate/internal/task"
	"callgate/tool"
)

// open opens a runner over a real store. Close is the end of its kernel.
func open(t *testing.T, stores storage.Stores, holder string) (*tasks.Runner, *background.Group) {
	t.Helper()
	return openWith(t, stores, tasks.Options{Holder: holder})
}

func openWith(t *testing.T, stores storage.Stores, o tasks.Options) (*tasks.Runner, *background.Group) {
	t.Helper()
	group := background.New(t.Context())
	t.Cleanup(group.Close)
	o.Store, o.Queue, o.Leases, o.Logs = stores.Tasks, stores.Queue, stores.Leases, stores.TaskLogs
	o.Log, o.Go = slog.New(slog.DiscardHandler), group.Go
	return tasks.New(o), group
}

func openStores(t *testing.T) storage.Stores {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "tasks.db"))
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db.Stores()
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func state(t *testing.T, s storage.Stores, id string) task.Task {
	t.Helper()
	got, err := s.Tasks.Get(t.Context(), id)
	ok(t, err)
	return got
}

func done(data string) task.Outcome {
	return task.Outcome{State: task.Done, Data: json.RawMessage(data)}
}

func TestStartingTwiceIsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		r, _ := open(t, stores, "k")
		var runs atomic.Int64
		r.Handle("count", func(context.Context, *tasks.Run) task.Outcome { runs.Add(1); return done(`1`) })
		for range 3 {
			_, err := r.Start(t.Context(), task.Task{ID: "t1", Kind: "count"})
			ok(t, err)
			synctest.Wait()
		}
		if got := state(t, stores, "t1"); got.State != task.Done || string(got.Outcome.Data) != "1" || runs.Load() != 1 {
			t.Errorf("%+v after %d runs", got, runs.Load())
		}
		if _, err := r.Start(t.Context(), task.Task{ID: "t2", Kind: "nobody"}); tool.KindOf(err) != tool.Internal {
			t.Errorf("a kind that nothing runs: %v", err)
		}
	})
}

func TestFailuresAndPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		r, _ := open(t, stores, "k")
		r.Handle("fail", func(context.Context, *tasks.Run) task.Outcome { return tasks.Failed(errors.New("no luck")) })
		r.Handle("panic", func(context.Context, *tasks.Run) task.Outcome { panic("oh") })
		for _, kind := range []string{"fail", "panic"} {
			_, err := r.Start(t.Context(), task.Task{ID: kind, Kind: kind})
			ok(t, err)
			synctest.Wait()
			if got := state(t, stores, kind); got.State != task.Failed || got.Outcome.Error == nil {
				t.Errorf("%s: %+v", kind, got)
			}
		}
	})
}

// The lease is renewed while a task runs, so nobody else runs it; a cancelled
// task learns of it at a renewal.
func TestALongTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		r, _ := open(t, stores, "k")
		var stopped error
		r.Handle("long", func(ctx context.Context, _ *tasks.Run) task.Outcome {
			<-ctx.Done()
			stopped = context.Cause(ctx)
			return task.Outcome{State: task.Failed, Summary: "stopped"}
		})
		_, err := r.Start(t.Context(), task.Task{ID: "t1", Kind: "long"})
		ok(t, err)
		<-time.After(10 * time.Minute)
		synctest.Wait()
		if leased, _, err := stores.Queue.Lease(t.Context(), task.Request{Holder: "other", For: time.Minute}); err != nil || len(leased) != 0 {
			t.Errorf("another took it: %v, %v", leased, err)
		}
		ok(t, stores.Tasks.Cancel(t.Context(), "t1", "ada"))
		<-time.After(time.Minute)
		synctest.Wait()
		if got := state(t, stores, "t1"); got.State != task.Cancelled || stopped == nil {
			t.Errorf("%+v, stopped by %v", got, stopped)
		}
	})
}

// A kernel that closes gives its tasks back, and the next one runs them.
func TestTasksOutliveTheirKernel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		first, kernel := open(t, stores, "k1")
		first.Handle("long", func(ctx context.Context, _ *tasks.Run) task.Outcome {
			<-ctx.Done()
			return task.Outcome{State: task.Failed}
		})
		_, err := first.Start(t.Context(), task.Task{ID: "t1", Kind: "long"})
		ok(t, err)
		synctest.Wait()
		kernel.Close()
		if got := state(t, stores, "t1"); got.State != task.Queued {
			t.Fatalf("%+v", got)
		}
		second, next := open(t, stores, "k2")
		second.Handle("long", func(context.Context, *tasks.Run) task.Outcome { return done(`2`) })
		second.Run()
		synctest.Wait()
		if got := state(t, stores, "t1"); got.State != task.Done || got.Attempt != 1 {
			t.Errorf("%+v", got)
		}
		next.Close()
	})
}

// A task that is cancelled where it runs stops at once, and Wait returns when its
// end is stored.
func TestCancelStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		r, _ := open(t, stores, "k")
		r.Handle("long", func(ctx context.Context, _ *tasks.Run) task.Outcome {
			<-ctx.Done()
			return task.Outcome{State: task.Failed}
		})
		_, err := r.Start(t.Context(), task.Task{ID: "t1", Kind: "long"})
		ok(t, err)
		if n := r.Running(); n != 1 {
			t.Errorf("%d tasks run", n)
		}
		began := time.Now()
		ok(t, r.Cancel(t.Context(), "t1", "ada"))
		ok(t, r.Wait(t.Context(), "t1"))
		if got := state(t, stores, "t1"); got.State != task.Cancelled || got.CancelledBy != "ada" || time.Since(began) > 0 {
			t.Errorf("%+v after %v", got, time.Since(began))
		}
		if n := r.Running(); n != 0 {
			t.Errorf("%d tasks run", n)
		}
		ok(t, r.Wait(t.Context(), "t1"))
		if err := r.Cancel(t.Context(), "none", "ada"); tool.KindOf(err) != tool.NotFound {
			t.Errorf("cancelling no task: %v", err)
		}
	})
}

// A machine that slept has leases that are over before their holder can renew them. What
// is cancelled just then ends as its handler says, and not behind its back.
func TestCancelAfterSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		r, _ := open(t, stores, "k")
		r.Handle("long", func(ctx context.Context, _ *tasks.Run) task.Outcome {
			<-ctx.Done()
			return done(`"in time"`)
		})
		_, err := r.Start(t.Context(), task.Task{ID: "t1", Kind: "long"})
		ok(t, err)
		lease := []task.Renewal{{ID: "t1", Fence: state(t, stores, "t1").Lease.Fence}}
		_, err = stores.Queue.Renew(t.Context(), lease, time.Millisecond)
		ok(t, err)
		<-time.After(time.Second)
		ok(t, r.Cancel(t.Context(), "t1", "ada"))
		ok(t, r.Wait(t.Context(), "t1"))
		if got := state(t, stores, "t1"); got.State != task.Done || string(got.Outcome.Data) != `"in time"` {
			t.Errorf("%+v", got)
		}
	})
}

// A kernel that was killed holds leases that nobody renews. The next one of its
// name runs those tasks at once; of kinds that are started it waits for Start.
func TestKilledKernelsTasksRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		for _, one := range []task.Task{{ID: "t1", Kind: "auto"}, {ID: "t2", Kind: "started"}} {
			_, _, err := stores.Tasks.Create(t.Context(), one)
			ok(t, err)
		}
		leased, _, err := stores.Queue.Lease(t.Context(), task.Request{Holder: "k", For: time.Hour, N: 2})
		ok(t, err)
		if len(leased) != 2 {
			t.Fatal("the tasks cannot be leased")
		}
		r, kernel := open(t, stores, "k")
		r.Handle("auto", func(context.Context, *tasks.Run) task.Outcome { return done(`1`) })
		r.HandleStarted("started", func(context.Context, *tasks.Run) task.Outcome { return done(`2`) })
		r.Run()
		synctest.Wait()
		if got := state(t, stores, "t1"); got.State != task.Done {
			t.Errorf("%+v", got)
		}
		if got := state(t, stores, "t2"); got.State.Final() || got.Attempt != 1 {
			t.Errorf("it ran without being started: %+v", got)
		}
		_, err = r.Start(t.Context(), task.Task{ID: "t2", Kind: "started"})
		ok(t, err)
		ok(t, r.Wait(t.Context(), "t2"))
		if got := state(t, stores, "t2"); got.State != task.Done {
			t.Errorf("%+v", got)
		}
		kernel.Close()
	})
}

// A runner whose lease was given to another says nothing more of the task.
func TestALostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		r, _ := open(t, stores, "k1")
		r.Handle("long", func(ctx context.Context, _ *tasks.Run) task.Outcome {
			<-ctx.Done()
			return done(`"late"`)
		})
		_, err := r.Start(t.Context(), task.Task{ID: "t1", Kind: "long"})
		ok(t, err)
		synctest.Wait()
		// Another kernel believes this one dead: its lease is made to end.
		lease := task.Renewal{ID: "t1", Fence: state(t, stores, "t1").Lease.Fence}
		_, err = stores.Queue.Renew(t.Context(), []task.Renewal{lease}, -time.Second)
		ok(t, err)
		leased, _, err := stores.Queue.Lease(t.Context(), task.Request{Holder: "k2", For: time.Hour})
		ok(t, err)
		if len(leased) != 1 {
			t.Fatal("the task cannot be leased")
		}
		<-time.After(time.Minute)
		synctest.Wait()
		if got := state(t, stores, "t1"); got.State != task.Running || got.Lease.Holder != "k2" {
			t.Errorf("%+v", got)
		}
	})
}

func TestModules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		r, _ := open(t, stores, "k")
		lent := r.ForModules(func(c tool.Call) (task.Asker, string, error) {
			return task.Asker{Principal: c.Principal, Workspace: "/w"}, "conversation", nil
		})
		lent.Handle("clock.ring", func(_ context.Context, _ string, input json.RawMessage) (json.RawMessage, error) {
			return input, nil
		})
		call := tool.Call{ID: "c1", Principal: tool.Principal{Session: "s1"}}
		id, err := lent.Start(t.Context(), call, "clock.ring", json.RawMessage(`{"at":"noon"}`))
		ok(t, err)
		again, err := lent.Start(t.Context(), call, "clock.ring", json.RawMessage(`{"at":"noon"}`))
		ok(t, err)
		synctest.Wait()
		got := state(t, stores, id)
		if id != again || got.State != task.Done || string(got.Outcome.Data) != `{"at":"noon"}` || !got.Owed() ||
			got.Asker.Workspace != "/w" {
			t.Errorf("%+v", got)
		}
	})
}
