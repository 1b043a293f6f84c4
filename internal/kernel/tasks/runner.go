// Package tasks runs durable tasks, by the law of internal/task. It adds:
//
//   - A task is stored before it runs. It is due to the instant: the runner sleeps
//     until the next task is due, and is woken when one is started or given back. It
//     looks again every few seconds all the same, because the clock may jump.
//   - One heartbeat renews all leases, at a third of their length. A runner whose
//     lease was given to another stops the handler and says nothing more of the task.
//   - An end is stored after what is on record of the calls that led to it.
//   - An end that cannot be stored, as on a full disk, is stored when it can be; until
//     then the task counts as running.
//   - A kernel that closes gives its tasks back, to be run again at the next start,
//     unless their handlers say that they are done, or in doubt. After a crash the next
//     kernel runs at once what the dead one held. So a handler may run twice for one
//     due time, and makes its effects under IDs that come from the task's.
//   - A Carrier may tell which tasks are due. The runner looks all the same: one that tells
//     late, or twice, or never, changes nothing but who was first.
//   - Kinds that are handled run by themselves. Kinds that are handled when started wait
//     after a restart until somebody starts them again. A kernel that lives only as long
//     as a command runs nothing by itself.
package tasks

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"callgate/internal/task"
	"callgate/tool"
)

// Handler runs a task. Its context ends when the task is cancelled, when the
// lease is lost, and when the kernel closes.
type Handler func(ctx context.Context, r *Run) task.Outcome

// Options is what a Runner needs of the kernel.
type Options struct {
	Store  task.Store
	Queue  task.Queue
	Leases task.Leases
	Logs   task.Logs
	Holder string // names this kernel
	Log    *slog.Logger
	Lease  time.Duration // default 30 seconds
	Keep   time.Duration // how long tasks that have ended are kept; default 30 days
	// Go runs work in the background, unless the kernel closes.
	Go func(func(context.Context)) bool
	// Recorded returns when all that was recorded is on disk; nil: it always is.
	Recorded func(context.Context) error
	// Ended is called after the end of a task that has a parent, or a notice, is
	// stored. It must not wait. It may be nil.
	Ended func(task.Task)
	// Started is called after a task that has a parent is stored. It must not wait. It
	// may be nil.
	Started func(task.Task)
	// ShortLived says that the kernel ends with the command that started it: it runs
	// what is started, and nothing by itself.
	ShortLived bool
	// Carrier tells which tasks are due, beside the runner's own look; nil: nobody does.
	Carrier Carrier
	// Hold says why nothing runs by itself now; what is started runs. Nil: all runs.
	Hold func() error
}

const (
	maxLeased    = 32               // tasks that are leased at once
	pollInterval = 10 * time.Second // between two looks at the clock
	holdInterval = time.Second      // between two looks whether tasks run again
	pruneEvery   = time.Hour
	keepEntries  = 200 // of a task's log
)

// Runner runs the tasks of one kernel. Make one with New.
type Runner struct {
	opt  Options
	wake chan struct{} // something may be due sooner than was known

	paused bool // the carrier was told to tell of nothing; who runs the tasks alone has it

	leasing sync.Mutex // held while tasks are leased and registered as running

	mu       sync.Mutex
	handlers map[string]Handler
	onStart  map[string]bool // kinds that run only when they are started
	running  map[string]*Run
	beat     *heartbeat // nil: nothing runs
	waiting  bool       // a task that runs by itself waits for its time
}

// New makes a runner. It runs nothing before Run or Start is called.
func New(o Options) *Runner {
	if o.Lease == 0 {
		o.Lease = 30 * time.Second
	}
	if o.Keep == 0 {
		o.Keep = 30 * 24 * time.Hour
	}
	return &Runner{
		opt: o, wake: make(chan struct{}, 1),
		handlers: map[string]Handler{}, onStart: map[string]bool{}, running: map[string]*Run{},
	}
}

// Handle sets what runs the tasks of a kind, by themselves.
func (r *Runner) Handle(kind string, h Handler) {
	r.mu.Lock()
	r.handlers[kind] = h
	r.mu.Unlock()
	r.wakeUp()
}

// HandleStarted is Handle for a kind whose tasks run only when they are started:
// after a restart they wait until Start names them again.
func (r *Runner) HandleStarted(kind string, h Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handlers[kind], r.onStart[kind] = h, true
}

func (r *Runner) handler(kind string) (h Handler, byItself bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.handlers[kind], !r.onStart[kind]
}

// kinds returns the kinds whose tasks run by themselves.
func (r *Runner) kinds() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Sorted(maps.Keys(r.handlers))
	return slices.DeleteFunc(all, func(kind string) bool { return r.onStart[kind] })
}

// Store returns where the tasks are kept.
func (r *Runner) Store() task.Store { return r.opt.Store }

// Logs returns where their logs are kept.
func (r *Runner) Logs() task.Logs { return r.opt.Logs }

// Start stores a task and runs it when it is due. A task that is stored already is
// returned as it stands, and goes on if nobody runs it: starting twice is once. An ID
// that another asker's task has, or one of another kind, is a Conflict.
func (r *Runner) Start(ctx context.Context, t task.Task) (task.Task, error) {
	const op = "tasks.Start"
	h, byItself := r.handler(t.Kind)
	if h == nil {
		return t, tool.Errorf(op, tool.Internal, "nothing runs tasks of the kind %q", t.Kind)
	}
	stored, fresh, err := r.opt.Store.Create(ctx, t)
	if err != nil {
		return stored, err
	}
	if !fresh && (stored.Kind != t.Kind || stored.Asker.Principal.Session != t.Asker.Principal.Session) {
		return task.Task{}, tool.Errorf(op, tool.Conflict, "there is another task %q", tool.Truncate(t.ID))
	}
	if stored.State.Final() {
		return stored, nil
	}
	if fresh && t.Parent != "" && r.opt.Started != nil {
		r.opt.Started(stored)
	}
	if stored.RunAt.After(time.Now()) && stored.State == task.Queued {
		if byItself {
			r.expect()
		}
		return stored, nil
	}
	return stored, r.lease(ctx, task.Request{ID: stored.ID, Own: !fresh})
}

// expect notes that a task waits for its time, and has the runner look when that is.
func (r *Runner) expect() {
	r.mu.Lock()
	r.waiting = true
	r.mu.Unlock()
	r.wakeUp()
}

func (r *Runner) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Tell stores a notice: news for the conversation that is its parent. The ID says
// what it is news of; telling twice is once.
func (r *Runner) Tell(ctx context.Context, notice task.Task) error {
	const op = "tasks.Tell"
	notice.Kind = task.Notice
	switch {
	case notice.Parent == "":
		return tool.Errorf(op, tool.Invalid, "the notice %q is for no conversation", notice.ID)
	case notice.Outcome == nil:
		return tool.Errorf(op, tool.Invalid, "the notice %q says nothing", notice.ID)
	}
	stored, fresh, err := r.opt.Store.Create(ctx, notice)
	if err != nil {
		return err
	}
	if !fresh && (stored.Kind != task.Notice || stored.Parent != notice.Parent) {
		return tool.Errorf(op, tool.Conflict, "there is another task %q", tool.Truncate(notice.ID))
	}
	if fresh {
		r.ended(stored)
	}
	return nil
}

// ended tells that the end of a task is stored.
func (r *Runner) ended(t task.Task) {
	if r.opt.Ended != nil && t.Parent != "" && t.State.Final() {
		r.opt.Ended(t)
	}
}

// Cancel cancels a task. Wait says when it has stopped.
func (r *Runner) Cancel(ctx context.Context, id, by string) error {
	before, err := r.opt.Store.Get(ctx, id)
	if err != nil {
		return err
	}
	one := r.find(id)
	if one != nil { // the machine may have slept: a task that runs here ends by its handler
		if _, err := r.opt.Queue.Renew(ctx, []task.Renewal{one.renewal()}, r.opt.Lease); err != nil {
			return err
		}
	}
	if err := r.opt.Store.Cancel(ctx, id, by); err != nil {
		return err
	}
	if one != nil {
		one.cancel(errCancelled)
		return nil
	}
	if before.State == task.Running && before.Lease.Holder == r.opt.Holder { // a process of this name, now dead
		return r.lease(ctx, task.Request{ID: id, Own: true})
	}
	if after, err := r.opt.Store.Get(ctx, id); err == nil && !before.State.Final() {
		r.ended(after)
	}
	r.wakeUp() // perhaps nothing waits any more
	return nil
}

// Wait waits until a task does not run here any more, and its end is stored.
func (r *Runner) Wait(ctx context.Context, id string) error {
	one := r.find(id)
	if one == nil {
		return nil
	}
	select {
	case <-one.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Running returns how many tasks run here.
func (r *Runner) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.running)
}

// InUse reports whether a task runs, or waits for its time to run by itself. News
// that are owed keep nothing.
func (r *Runner) InUse() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.running) > 0 || r.waiting && !r.opt.ShortLived
}

func (r *Runner) find(id string) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[id]
}

// Run runs at once the tasks that an earlier process left, and each task when its
// time comes, until the kernel closes. Tasks of kinds that nothing runs are left.
func (r *Runner) Run() {
	if r.opt.ShortLived {
		return
	}
	r.opt.Go(func(ctx context.Context) {
		own := true // what the dead process of this name held
		for {
			sleep, err := r.leaseDue(ctx, own)
			// A lease that was taken and not answered is one of nobody, like those.
			own = err != nil
			if err != nil && ctx.Err() == nil {
				r.opt.Log.Error("tasks cannot be leased", "error", err)
			}
			timer := time.NewTimer(sleep)
			select {
			case <-timer.C:
			case <-r.wake:
				timer.Stop()
			case <-ctx.Done():
				timer.Stop()
				return
			}
		}
	})
	if r.opt.Carrier != nil {
		r.opt.Go(func(ctx context.Context) { r.opt.Carrier.Carry(ctx, r.leaseTold) })
	}
	r.opt.Go(r.prune)
}

// leaseDue leases and runs what is due, and returns how long to sleep.
func (r *Runner) leaseDue(ctx context.Context, own bool) (time.Duration, error) {
	kinds := r.kinds()
	if len(kinds) == 0 {
		return pollInterval, nil
	}
	held := r.held() != nil
	if r.pause(ctx, held); held {
		return holdInterval, nil
	}
	if own {
		if err := r.lease(ctx, task.Request{Kinds: kinds, N: maxLeased, Own: true}); err != nil {
			return pollInterval, err
		}
	}
	next, err := r.opt.Queue.Next(ctx, r.opt.Holder, kinds...)
	r.mu.Lock()
	r.waiting = err != nil || !next.IsZero()
	r.mu.Unlock()
	switch sleep := time.Until(next); {
	case err != nil || next.IsZero():
		return pollInterval, err
	case sleep > 0:
		return min(sleep, pollInterval), nil
	}
	if err := r.lease(ctx, task.Request{Kinds: kinds, N: maxLeased}); err != nil {
		return pollInterval, err
	}
	return 0, nil
}

// lease takes tasks and runs them in the background.
func (r *Runner) lease(ctx context.Context, request task.Request) error {
	r.leasing.Lock()
	defer r.leasing.Unlock()
	if request.Own {
		request.Runs = slices.Collect(maps.Keys(r.runs()))
	}
	if slices.Contains(request.Runs, request.ID) {
		return nil
	}
	request.Holder, request.For = r.opt.Holder, r.opt.Lease
	leased, ended, err := r.opt.Queue.Lease(ctx, request)
	if err != nil {
		return err
	}
	for _, t := range ended {
		r.opt.Log.Warn("a task was abandoned", "task", t.ID, "kind", t.Kind, "state", t.State)
		r.ended(t)
	}
	for _, t := range leased {
		r.begin(t)
	}
	return nil
}

// prune removes what ended long ago, now and then.
func (r *Runner) prune(ctx context.Context) {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		n, err := r.opt.Queue.Prune(ctx, time.Now().Add(-r.opt.Keep))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.opt.Log.Error("tasks that ended long ago cannot be removed", "error", err)
		case n > 0:
			r.opt.Log.Info("tasks that ended long ago were removed", "tasks", n)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// IsCancelled reports whether the context of a handler ended because its task was cancelled.
func IsCancelled(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errCancelled) }

var (
	errCancelled = errors.New("the task was cancelled")
	errLost      = errors.New("the lease of the task was given to another")
)
