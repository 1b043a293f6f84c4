package schedules_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/control"
	"callgate/internal/gate/permission"
	"callgate/internal/kernel"
	"callgate/internal/kernel/background"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/schedules"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/tasks"
	"callgate/internal/storage"
	"callgate/internal/storage/sqlite"
	"callgate/internal/task"
	"callgate/tool"
)

// room is a scheduler over a store of its own, for what a kernel does not let a test
// do: set the clock, and break what calls.
type room struct {
	*schedules.Scheduler
	stores storage.Stores
	group  *background.Group
	sleep  *sleeper
}

// sleeper is a queue on a machine that may sleep.
type sleeper struct {
	task.Queue
	awake chan struct{} // empty while the machine sleeps; a mutex would stop a bubble's clock
}

func (s *sleeper) Next(ctx context.Context, holder string, kinds ...string) (time.Time, error) {
	<-s.awake
	defer func() { s.awake <- struct{}{} }()
	return s.Queue.Next(ctx, holder, kinds...)
}

// newRoom makes a scheduler in a kernel's world.
func newRoom(t *testing.T, k *kernel.Kernel, db string, o schedules.Options) *room {
	t.Helper()
	opened, err := sqlite.Open(t.Context(), db)
	ok(t, err)
	r := &room{stores: opened.Stores(), group: background.New(t.Context())}
	t.Cleanup(func() {
		r.group.Close()
		ok(t, opened.Close())
	})
	r.sleep = &sleeper{r.stores.Queue, make(chan struct{}, 1)}
	r.sleep.awake <- struct{}{}
	o.Runner = tasks.New(tasks.Options{
		Store: r.stores.Tasks, Queue: r.sleep, Leases: r.stores.Leases, Logs: r.stores.TaskLogs, Holder: "k",
		Log: slog.New(slog.DiscardHandler), Go: r.group.Go,
	})
	if o.Calls == nil {
		o.Calls = k.Deferred
	}
	o.Channels, o.Session = k.Outside.Channels, k.Sessions.Get
	o.IsConversation = func(id string) bool { _, err := k.Conversations.Get(id); return err == nil }
	o.Mode = func(string) permission.Mode { return "" }
	r.Scheduler = schedules.New(o)
	o.Runner.Run()
	return r
}

func (r *room) add(t *testing.T, s *session.Session, call string, request control.ScheduleRequest) control.Job {
	t.Helper()
	j, err := r.Schedule(t.Context(), tool.Call{ID: call, Principal: s.Principal()}, request)
	ok(t, err)
	return j
}

func (r *room) job(t *testing.T, id string) task.Task {
	t.Helper()
	got, err := r.stores.Tasks.Get(t.Context(), id)
	ok(t, err)
	return got
}

// A machine that sleeps, and a clock that is set forward, are the same to a schedule:
// what was missed happens once.
func TestMachineThatSleeps(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		began, s := time.Now(), w.conversation()
		r := newRoom(t, w.k, filepath.Join(t.TempDir(), "db"), schedules.Options{})
		j := r.add(t, s, "c1", control.ScheduleRequest{When: "@hourly", Action: "demo.run"})
		pass(90 * time.Minute)
		<-r.sleep.awake
		pass(9 * time.Hour)
		r.sleep.awake <- struct{}{}
		pass(20 * time.Second)
		times := w.demo.times(began)
		if len(times) != 2 || times[1] < 10*time.Hour+30*time.Minute || times[1] > 10*time.Hour+31*time.Minute {
			t.Errorf("it ran at %v", times)
		}
		pass(time.Hour)
		same(t, "it ran", w.demo.times(began)[2:], hours(11))
		if got := r.job(t, j.ID); !strings.Contains(string(got.Data), `"missed":8`) {
			t.Errorf("%s", got.Data)
		}
	})
}

// A clock that is set back, while a run lasts or between two, has nothing happen again.
func TestClockThatIsSetBack(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		var back atomic.Int64
		s := w.conversation()
		r := newRoom(t, w.k, filepath.Join(t.TempDir(), "db"), schedules.Options{
			Now: func() time.Time { return time.Now().Add(-time.Duration(back.Load())) },
		})
		w.demo.does = func(context.Context) (any, error) {
			back.Store(int64(2 * time.Hour))
			return "set back", nil
		}
		j := r.add(t, s, "c1", control.ScheduleRequest{When: "@hourly", Action: "demo.run"})
		pass(61 * time.Minute) // the wall shows 23:01 of the day before now
		if got := r.job(t, j.ID); got.State != task.Queued || !got.RunAt.Equal(time.Date(2000, 1, 1, 2, 0, 0, 0, time.UTC)) {
			t.Errorf("it is %s, and next at %v", got.State, got.RunAt)
		}
		same(t, "it ran", len(w.demo.times(time.Now())), 1)
	})
}

// A call that asks for the same again has the job that it made: its record may be lost,
// and its job not.
func TestSameCallAsksAgain(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		s := w.conversation()
		r := newRoom(t, w.k, filepath.Join(t.TempDir(), "db"), schedules.Options{})
		request := control.ScheduleRequest{When: "in 1h", Action: "demo.run", Name: "job"}
		first := r.add(t, s, "c1", request)
		pass(time.Minute)
		second := r.add(t, s, "c1", request)
		if first.ID != second.ID || first.NextRun != second.NextRun || second.Replaced != "" {
			t.Errorf("%+v, then %+v", first, second)
		}
		pass(2 * time.Hour)
		same(t, "it ran", len(w.demo.times(time.Now())), 1)
	})
}

// A kernel that is killed in the middle of a run leaves a call in doubt: that is told,
// once, and the call is not made again; the next time is.
func TestKilledInTheMiddle(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		s, db := w.conversation(), filepath.Join(t.TempDir(), "tasks", "db")
		ok(t, os.MkdirAll(filepath.Dir(db), 0o700))
		r := newRoom(t, w.k, db, schedules.Options{})
		w.demo.does = func(ctx context.Context) (any, error) {
			pauseFor(ctx, 10*time.Hour)
			return nil, ctx.Err()
		}
		j := r.add(t, s, "c1", control.ScheduleRequest{When: "@hourly", Action: "demo.run"})
		once := r.add(t, s, "c2", control.ScheduleRequest{When: "in 1h", Action: "demo.run", Args: json.RawMessage(`{"a":1}`)})
		pass(61 * time.Minute)
		same(t, "it ran", len(w.demo.times(time.Now())), 2)

		left := filepath.Join(t.TempDir(), "left") // what kill -9 leaves
		ok(t, os.CopyFS(filepath.Join(left, "state"), os.DirFS(w.state)))
		ok(t, os.CopyFS(filepath.Join(left, "tasks"), os.DirFS(filepath.Dir(db))))
		for _, name := range []string{"human.key", "journal.key"} {
			_ = os.Chmod(filepath.Join(left, "state", name), 0o600)
		}
		var after demo
		next := kerneltest.Open(t, filepath.Join(left, "state"), after.tool(t))
		for range 2 {
			r = newRoom(t, next, filepath.Join(left, "tasks", "db"), schedules.Options{})
			synctest.Wait()
			r.group.Close()
		}
		var news []string
		list, err := r.stores.Tasks.List(t.Context(), task.Query{Parent: s.ID(), Owed: true})
		ok(t, err)
		for _, one := range list {
			news = append(news, told(one))
		}
		all := strings.Join(news, "\n\n")
		for _, id := range []string{j.ID, once.ID} {
			if strings.Count(all, "SCHEDULED RUN "+id+"-20000101T010000Z of demo.run: in doubt\n") != 1 {
				t.Errorf("told %s", all)
			}
		}
		if got := r.job(t, once.ID); got.State != task.InDoubt || len(news) != 2 {
			t.Errorf("the one for once is %s; told %d times", got.State, len(news))
		}
		same(t, "it ran again", len(after.times(time.Now())), 0)
		newRoom(t, next, filepath.Join(left, "tasks", "db"), schedules.Options{})
		pass(time.Hour)
		same(t, "it ran again", len(after.times(time.Now())), 1)
	})
}
