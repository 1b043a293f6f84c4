package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/tool"
)

// counted counts what reaches the queue.
type counted struct {
	task.Queue
	renewals, leases, pruned atomic.Int64 // renewals: transactions
	most                     atomic.Int64 // leases of one renewal
}

func (c *counted) Renew(ctx context.Context, leases []task.Renewal, d time.Duration) (task.Renewed, error) {
	c.renewals.Add(1)
	c.most.Store(max(c.most.Load(), int64(len(leases))))
	return c.Queue.Renew(ctx, leases, d)
}

func (c *counted) Lease(ctx context.Context, r task.Request) (leased, ended []task.Task, err error) {
	c.leases.Add(1)
	return c.Queue.Lease(ctx, r)
}

func (c *counted) Prune(ctx context.Context, before time.Time) (int, error) {
	c.pruned.Add(1)
	return c.Queue.Prune(ctx, before)
}

// broken fails like a full disk, for as long as it is.
type broken struct {
	task.Leases
	full  atomic.Bool
	tried atomic.Int64
}

func (b *broken) refuse() error {
	if b.full.Load() {
		b.tried.Add(1)
		return tool.Errorf("test", tool.Unavailable, "the disk is full")
	}
	return nil
}

func (b *broken) End(ctx context.Context, id string, fence uint64, o task.Outcome) error {
	return errors.Join(b.refuse(), unless(b.full.Load(), func() error { return b.Leases.End(ctx, id, fence, o) }))
}

func unless(skip bool, f func() error) error {
	if skip {
		return nil
	}
	return f()
}

// wait lets handlers run until their contexts end.
func wait(ctx context.Context, _ *tasks.Run) task.Outcome {
	<-ctx.Done()
	return task.Outcome{State: task.Failed, Summary: "stopped"}
}

// Many tasks that run have one heartbeat, at a third of the lease.
func TestOneHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		queue := &counted{Queue: stores.Queue}
		stores.Queue = queue
		r, kernel := open(t, stores, "k")
		r.Handle("long", wait)
		const n = 50
		for i := range n {
			_, err := r.Start(t.Context(), task.Task{ID: fmt.Sprint(i), Kind: "long"})
			ok(t, err)
		}
		<-time.After(5*time.Minute + time.Second)
		synctest.Wait()
		if got := queue.renewals.Load(); got != 30 || queue.most.Load() != n {
			t.Errorf("%d renewals in five minutes, of %d leases at most", got, queue.most.Load())
		}
		kernel.Close()
		if got := r.Running(); got != 0 {
			t.Errorf("%d tasks run after the kernel closed", got)
		}
		<-time.After(time.Hour)
		if got := queue.renewals.Load(); got != 30 {
			t.Errorf("%d renewals after the kernel closed", got-30)
		}
	})
}

// A runner that has nothing to do asks only when the next task is due, and does not lease.
func TestIdleRunnerLeasesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		queue := &counted{Queue: stores.Queue}
		stores.Queue = queue
		r, _ := open(t, stores, "k")
		r.Handle("k", wait)
		r.Run()
		_, err := r.Start(t.Context(), task.Task{ID: "t1", Kind: "k", RunAt: time.Now().Add(24 * time.Hour)})
		ok(t, err)
		<-time.After(time.Hour)
		if got := queue.leases.Load(); got != 1 {
			t.Errorf("%d leases in an hour, want the one of the start", got)
		}
	})
}

// An end that cannot be stored is stored when the disk has space again. Until then the
// task is held: nobody else runs it.
func TestEndOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		disk := &broken{Leases: stores.Leases}
		stores.Leases = disk
		var told atomic.Int64
		r, _ := openWith(t, stores, tasks.Options{Holder: "k", Ended: func(task.Task) { told.Add(1) }})
		runs := 0
		r.Handle("k", func(context.Context, *tasks.Run) task.Outcome { runs++; return done(`1`) })
		r.Run()
		disk.full.Store(true)
		_, err := r.Start(t.Context(), task.Task{ID: "t1", Kind: "k", Parent: "p"})
		ok(t, err)
		<-time.After(10 * time.Minute)
		other := task.Request{Holder: "other", For: time.Minute}
		if leased, _, err := stores.Queue.Lease(t.Context(), other); err != nil || len(leased) != 0 {
			t.Errorf("another took it: %v, %v", leased, err)
		}
		if r.Running() != 1 || told.Load() != 0 || disk.tried.Load() < 5 {
			t.Errorf("%d run, %d told, %d tried", r.Running(), told.Load(), disk.tried.Load())
		}
		disk.full.Store(false)
		<-time.After(time.Minute)
		synctest.Wait()
		if got := state(t, stores, "t1"); got.State != task.Done || runs != 1 || told.Load() != 1 || r.Running() != 0 {
			t.Errorf("%+v after %d runs, told %d times", got, runs, told.Load())
		}
	})
}

// The end of a task is stored when what is on record of it is on disk.
func TestEndFollowsTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		recorded := make(chan struct{})
		r, _ := openWith(t, stores, tasks.Options{Holder: "k", Recorded: func(context.Context) error { <-recorded; return nil }})
		r.Handle("k", func(context.Context, *tasks.Run) task.Outcome { return done(`1`) })
		r.Run()
		_, err := r.Start(t.Context(), task.Task{ID: "t1", Kind: "k"})
		ok(t, err)
		synctest.Wait()
		if got := state(t, stores, "t1").State; got != task.Running {
			t.Errorf("before the record is on disk: %s", got)
		}
		close(recorded)
		ok(t, r.Wait(t.Context(), "t1"))
		if got := state(t, stores, "t1").State; got != task.Done {
			t.Errorf("after it: %s", got)
		}
	})
}

// A kernel that closes on a full disk does not wait for space: the task runs again.
func TestCloseOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		disk := &broken{Leases: stores.Leases}
		disk.full.Store(true)
		real := stores.Leases
		stores.Leases = disk
		r, kernel := open(t, stores, "k")
		r.Handle("k", func(context.Context, *tasks.Run) task.Outcome { return done(`1`) })
		_, err := r.Start(t.Context(), task.Task{ID: "t1", Kind: "k"})
		ok(t, err)
		synctest.Wait()
		began := time.Now()
		kernel.Close()
		if took := time.Since(began); took > 0 {
			t.Errorf("it closed in %v", took)
		}
		stores.Leases = real
		next, _ := open(t, stores, "k")
		next.Handle("k", func(context.Context, *tasks.Run) task.Outcome { return done(`2`) })
		next.Run()
		synctest.Wait()
		if got := state(t, stores, "t1"); got.State != task.Done || string(got.Outcome.Data) != "2" || got.Attempt != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// Clocks that jump: a task that is due sooner than the runner knew is found within
// seconds; leases that have ended in one go are still their holder's, and it does not run
// a task twice at once; leases that last too long are set right with the next heartbeat.
func TestAClockThatJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		r, _ := open(t, stores, "k")
		var runs atomic.Int64
		r.Handle("long", func(ctx context.Context, one *tasks.Run) task.Outcome {
			runs.Add(1)
			return wait(ctx, one)
		})
		r.Handle("k", func(context.Context, *tasks.Run) task.Outcome { return done(`1`) })
		r.Run()
		_, err := r.Start(t.Context(), task.Task{ID: "later", Kind: "k", RunAt: time.Now().Add(time.Hour)})
		ok(t, err)
		_, err = r.Start(t.Context(), task.Task{ID: "long", Kind: "long", MaxAttempts: 1})
		ok(t, err)
		synctest.Wait()
		// What a jump of the clock makes of the times that are stored.
		_, _, err = stores.Tasks.Create(t.Context(), task.Task{ID: "due now", Kind: "k"})
		ok(t, err)
		lease := []task.Renewal{{ID: "long", Fence: state(t, stores, "long").Lease.Fence}}
		_, err = stores.Queue.Renew(t.Context(), lease, -time.Hour)
		ok(t, err)
		<-time.After(10 * time.Second)
		synctest.Wait()
		if got := state(t, stores, "due now"); got.State != task.Done {
			t.Errorf("ten seconds after the jump it is %s", got.State)
		}
		if got := state(t, stores, "long"); got.State != task.Running || runs.Load() != 1 || !got.Lease.Until.After(time.Now()) {
			t.Errorf("%+v after %d runs", got, runs.Load())
		}
		_, err = stores.Queue.Renew(t.Context(), lease, 24*time.Hour)
		ok(t, err)
		<-time.After(10 * time.Second)
		synctest.Wait()
		if got := state(t, stores, "long").Lease.Until; time.Until(got) > 30*time.Second {
			t.Errorf("the lease lasts until %v", got)
		}
	})
}

// A handler whose lease was given to another is stopped, and can save nothing.
func TestLostLeaseStopsTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		var news atomic.Int64
		r, _ := openWith(t, stores, tasks.Options{Holder: "k1", Ended: func(task.Task) { news.Add(1) }})
		var saved error
		stopped := false
		r.Handle("long", func(ctx context.Context, one *tasks.Run) task.Outcome {
			<-time.After(5 * time.Second) // shorter than a heartbeat: it learns of it here
			saved = one.Save(ctx, "mine")
			<-ctx.Done()
			stopped = true
			one.Again(time.Now(), "mine too")
			return done(`"mine"`)
		})
		_, err := r.Start(t.Context(), task.Task{ID: "t1", Kind: "long", Parent: "p"})
		ok(t, err)
		synctest.Wait()
		lease := []task.Renewal{{ID: "t1", Fence: state(t, stores, "t1").Lease.Fence}}
		_, err = stores.Queue.Renew(t.Context(), lease, -time.Second)
		ok(t, err)
		leased, _, err := stores.Queue.Lease(t.Context(), task.Request{Holder: "k2", For: time.Hour})
		ok(t, err)
		if len(leased) != 1 {
			t.Fatal("the task cannot be leased")
		}
		<-time.After(6 * time.Second)
		synctest.Wait()
		if tool.KindOf(saved) != tool.Conflict || !stopped || r.Running() != 0 || news.Load() != 0 {
			t.Errorf("saved: %v; stopped: %v; %d run, %d told", saved, stopped, r.Running(), news.Load())
		}
		if got := state(t, stores, "t1"); got.State != task.Running || got.Lease.Holder != "k2" || got.Data != nil {
			t.Errorf("%+v", got)
		}
	})
}

// What a kernel that closes does with what runs: it is given back, unless the handler
// says that it is done, or in doubt.
func TestCloseGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		r, kernel := open(t, stores, "k")
		for kind, state := range map[string]task.State{
			"failed": task.Failed, "cancelled": task.Cancelled, "done": task.Done, "doubt": task.InDoubt, "nothing": "",
		} {
			r.Handle(kind, func(ctx context.Context, one *tasks.Run) task.Outcome {
				ok(t, one.Save(ctx, kind))
				<-ctx.Done()
				return task.Outcome{State: state}
			})
			_, err := r.Start(t.Context(), task.Task{ID: kind, Kind: kind, MaxAttempts: 1})
			ok(t, err)
		}
		synctest.Wait()
		kernel.Close()
		for id, want := range map[string]task.State{
			"failed": task.Queued, "cancelled": task.Queued, "nothing": task.Queued, "done": task.Done, "doubt": task.InDoubt,
		} {
			got := state(t, stores, id)
			if got.State != want || string(got.Data) != `"`+id+`"` || want == task.Queued && got.Attempt != 0 {
				t.Errorf("%s: %+v", id, got)
			}
		}
		if _, err := r.Start(t.Context(), task.Task{ID: "late", Kind: "done"}); err != nil {
			t.Error(err)
		}
		if got := state(t, stores, "late"); got.State != task.Queued || got.Attempt != 0 {
			t.Errorf("started after the kernel closed: %+v", got)
		}
	})
}

// A crash: the next kernel of that name runs at once what may run again, with what was
// saved, and what had its only attempt is in doubt and never runs again.
func TestDeadEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		for _, one := range []task.Task{{ID: "again", Kind: "k"}, {ID: "once", Kind: "k", MaxAttempts: 1}} {
			_, _, err := stores.Tasks.Create(t.Context(), one)
			ok(t, err)
		}
		leased, _, err := stores.Queue.Lease(t.Context(), task.Request{Holder: "k", For: time.Hour, N: 9})
		ok(t, err)
		for _, one := range leased {
			ok(t, stores.Leases.Save(t.Context(), one.ID, one.Lease.Fence, []byte(`"half way"`)))
		}
		for start := range 3 {
			r, kernel := open(t, stores, "k")
			var ran []string
			r.Handle("k", func(_ context.Context, one *tasks.Run) task.Outcome {
				ran = append(ran, one.ID+string(one.Data))
				return done(`1`)
			})
			began := time.Now()
			r.Run()
			synctest.Wait()
			want := []string{`again"half way"`}
			if start > 0 {
				want = nil
			}
			if fmt.Sprint(ran) != fmt.Sprint(want) || time.Since(began) > 0 {
				t.Errorf("start %d: %v ran after %v", start, ran, time.Since(began))
			}
			kernel.Close()
		}
		if got := state(t, stores, "once"); got.State != task.InDoubt || got.Attempt != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// A panic ends a task, also one that had given itself back; and what is no outcome fails.
func TestPanicsAndBadOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		r, _ := open(t, stores, "k")
		r.Handle("panic", func(_ context.Context, one *tasks.Run) task.Outcome {
			one.Again(time.Now().Add(time.Hour), nil)
			panic("oh")
		})
		r.Handle("none", func(context.Context, *tasks.Run) task.Outcome { return task.Outcome{} })
		r.Handle("odd", func(context.Context, *tasks.Run) task.Outcome { return done(`{`) })
		for _, kind := range []string{"panic", "none", "odd"} {
			_, err := r.Start(t.Context(), task.Task{ID: kind, Kind: kind})
			ok(t, err)
			synctest.Wait()
			if got := state(t, stores, kind); got.State != task.Failed || got.Outcome.Error == nil {
				t.Errorf("%s: %+v", kind, got)
			}
		}
	})
}

// What ended long ago is removed, at the start and every hour.
func TestPruneByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		queue := &counted{Queue: stores.Queue}
		stores.Queue = queue
		r, kernel := openWith(t, stores, tasks.Options{Holder: "k", Keep: 24 * time.Hour})
		r.Handle("k", func(context.Context, *tasks.Run) task.Outcome { return done(`1`) })
		r.Run()
		_, err := r.Start(t.Context(), task.Task{ID: "old", Kind: "k"})
		ok(t, err)
		_, err = r.Start(t.Context(), task.Task{ID: "owed", Kind: "k", Parent: "p"})
		ok(t, err)
		<-time.After(23 * time.Hour)
		state(t, stores, "old")
		<-time.After(3*time.Hour + time.Second)
		synctest.Wait()
		if _, err := stores.Tasks.Get(t.Context(), "old"); tool.KindOf(err) != tool.NotFound {
			t.Errorf("after a day: %v", err)
		}
		state(t, stores, "owed")
		if got := queue.pruned.Load(); got != 27 {
			t.Errorf("it pruned %d times in 26 hours", got)
		}
		kernel.Close()
	})
}

// The kernel of a command runs what is started, and nothing by itself.
func TestShortLived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		_, _, err := stores.Tasks.Create(t.Context(), task.Task{ID: "left", Kind: "k"})
		ok(t, err)
		r, kernel := openWith(t, stores, tasks.Options{Holder: "k", ShortLived: true})
		r.Handle("k", func(context.Context, *tasks.Run) task.Outcome { return done(`1`) })
		r.Run()
		_, err = r.Start(t.Context(), task.Task{ID: "started", Kind: "k"})
		ok(t, err)
		_, err = r.Start(t.Context(), task.Task{ID: "later", Kind: "k", RunAt: time.Now().Add(time.Minute)})
		ok(t, err)
		<-time.After(time.Hour)
		synctest.Wait()
		for id, want := range map[string]task.State{"left": task.Queued, "started": task.Done, "later": task.Queued} {
			if got := state(t, stores, id); got.State != want {
				t.Errorf("%s is %s", id, got.State)
			}
		}
		if r.InUse() {
			t.Error("it is kept by what it will not run")
		}
		kernel.Close()
	})
}

// An ID that another asker has, or a task of another kind, is not given away.
func TestStartOfATakenID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		r, _ := open(t, stores, "k")
		r.Handle("a", wait)
		r.Handle("b", wait)
		asker := func(session string) task.Asker { return task.Asker{Principal: tool.Principal{Session: session}} }
		_, err := r.Start(t.Context(), task.Task{ID: "t1", Kind: "a", Asker: asker("s1")})
		ok(t, err)
		for _, one := range []task.Task{{Kind: "b", Asker: asker("s1")}, {Kind: "a", Asker: asker("s2")}} {
			one.ID = "t1"
			if got, err := r.Start(t.Context(), one); tool.KindOf(err) != tool.Conflict || got.ID != "" {
				t.Errorf("%+v, %v", got, err)
			}
		}
	})
}

// More tasks than one lease holds are all run at their time.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		r, _ := open(t, stores, "k")
		var runs atomic.Int64
		r.Handle("k", func(context.Context, *tasks.Run) task.Outcome { runs.Add(1); return done(`1`) })
		at := time.Now().Add(time.Hour)
		for i := range 100 {
			_, _, err := stores.Tasks.Create(t.Context(), task.Task{ID: fmt.Sprint(i), Kind: "k", RunAt: at})
			ok(t, err)
		}
		r.Run()
		<-time.After(time.Hour)
		synctest.Wait()
		if runs.Load() != 100 || !time.Now().Equal(at) {
			t.Errorf("%d ran, %v late", runs.Load(), time.Since(at))
		}
	})
}

// What a dead process held is cancelled at once: nobody runs it.
func TestCancelOfADeadEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := openStores(t)
		_, _, err := stores.Tasks.Create(t.Context(), task.Task{ID: "t1", Kind: "k", Parent: "p"})
		ok(t, err)
		_, _, err = stores.Queue.Lease(t.Context(), task.Request{Holder: "k", For: time.Hour})
		ok(t, err)
		told := 0
		r, _ := openWith(t, stores, tasks.Options{Holder: "k", ShortLived: true, Ended: func(task.Task) { told++ }})
		r.Handle("k", wait)
		ok(t, r.Cancel(t.Context(), "t1", "ada"))
		synctest.Wait()
		if got := state(t, stores, "t1"); got.State != task.Cancelled || told != 1 || r.Running() != 0 {
			t.Errorf("%+v, told %d times", got, told)
		}
	})
}
