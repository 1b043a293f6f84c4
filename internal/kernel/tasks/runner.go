// Package tasks runs durable tasks. Law: a task is stored before it runs. It
// runs under a lease, which its runner renews at a third of its length, so it
// runs in one place at a time. A runner whose lease was given to another stops
// and says nothing more of the task. A kernel that closes gives its tasks back,
// to be run again at the next start. So a task may run twice, and what runs it
// must allow for that.
package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"callgate/internal/conversation/history"
	"callgate/internal/task"
	"callgate/tool"
)

// Handler runs a task. Its context ends when the task is cancelled, when the
// lease is lost, and when the kernel closes.
type Handler func(ctx context.Context, t task.Task) task.Outcome

// Options is what a Runner needs of the kernel.
type Options struct {
	Store  task.Store
	Queue  task.Queue
	Holder string // names this kernel
	Log    *slog.Logger
	Lease  time.Duration // default 30 seconds
	// Go runs work in the background, unless the kernel closes.
	Go func(func(context.Context)) bool
}

// The most tasks that are leased at once, and how often the runner looks for
// tasks whose time has come.
const (
	maxLeased    = 32
	pollInterval = 10 * time.Second
)

// Runner runs the tasks of one kernel. Make one with New.
type Runner struct {
	opt Options

	leasing sync.Mutex // held while tasks are leased and registered as running

	mu       sync.Mutex
	handlers map[string]Handler
	onStart  map[string]bool // kinds that run only when they are started
	running  map[string]*run
}

// run is a task that runs here.
type run struct {
	cancel context.CancelCauseFunc
	ended  chan struct{} // closed when its end is stored
}

// New makes a runner. It runs nothing before Run or Start is called.
func New(o Options) *Runner {
	if o.Lease == 0 {
		o.Lease = 30 * time.Second
	}
	return &Runner{opt: o, handlers: map[string]Handler{}, onStart: map[string]bool{}, running: map[string]*run{}}
}

// Handle sets what runs the tasks of a kind. It is called before Run.
func (r *Runner) Handle(kind string, h Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handlers[kind] = h
}

// HandleStarted is Handle for a kind whose tasks run only when they are started:
// after a restart they wait until Start names them again.
func (r *Runner) HandleStarted(kind string, h Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handlers[kind], r.onStart[kind] = h, true
}

func (r *Runner) handler(kind string) Handler {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.handlers[kind]
}

// kinds returns the kinds whose tasks run by themselves.
func (r *Runner) kinds() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Sorted(maps.Keys(r.handlers))
	return slices.DeleteFunc(all, func(kind string) bool { return r.onStart[kind] })
}

// Start stores a task and runs it, if it is due. A task that is stored already
// is returned as it stands, and goes on if nobody runs it: starting twice is
// once.
func (r *Runner) Start(ctx context.Context, t task.Task) (task.Task, error) {
	if r.handler(t.Kind) == nil {
		return t, tool.Errorf("tasks.Start", tool.Internal, "nothing runs tasks of the kind %q", t.Kind)
	}
	stored, _, err := r.opt.Store.Create(ctx, t)
	if err != nil || stored.State.Final() || r.find(stored.ID) != nil {
		return stored, err
	}
	return stored, r.lease(ctx, task.Request{ID: stored.ID})
}

// Cancel cancels a task. Wait says when it has stopped.
func (r *Runner) Cancel(ctx context.Context, id, by string) error {
	if err := r.opt.Store.Cancel(ctx, id, by); err != nil {
		return err
	}
	if one := r.find(id); one != nil {
		one.cancel(errCancelled)
	}
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

func (r *Runner) find(id string) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[id]
}

// Run runs the tasks that an earlier process left, and each task when its time
// comes, until the kernel closes. Tasks of kinds that nothing runs are left.
func (r *Runner) Run() {
	if len(r.kinds()) == 0 {
		return
	}
	r.opt.Go(func(ctx context.Context) {
		tick := time.NewTicker(pollInterval)
		defer tick.Stop()
		for {
			if err := r.lease(ctx, task.Request{Kinds: r.kinds(), N: maxLeased}); err != nil && ctx.Err() == nil {
				r.opt.Log.Error("tasks cannot be leased", "error", err)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// lease takes tasks and runs them in the background.
func (r *Runner) lease(ctx context.Context, request task.Request) error {
	r.leasing.Lock()
	defer r.leasing.Unlock()
	r.mu.Lock()
	request.Own, request.Runs = true, slices.Collect(maps.Keys(r.running))
	r.mu.Unlock()
	request.Holder, request.For = r.opt.Holder, r.opt.Lease
	leased, err := r.opt.Queue.Lease(ctx, request)
	if err != nil {
		return err
	}
	for _, t := range leased {
		r.begin(t)
	}
	return nil
}

// begin runs a leased task in the background. It is registered first: who starts a
// task can wait for it.
func (r *Runner) begin(t task.Task) {
	ctx, cancel := context.WithCancelCause(context.Background())
	one := &run{cancel: cancel, ended: make(chan struct{})}
	r.mu.Lock()
	r.running[t.ID] = one
	r.mu.Unlock()
	began := r.opt.Go(func(kernel context.Context) {
		defer r.remove(t.ID, one)
		defer context.AfterFunc(kernel, func() { cancel(history.KernelClosed) })()
		r.run(ctx, kernel, t, cancel)
	})
	if !began {
		r.giveBack(t)
		r.remove(t.ID, one)
	}
}

// remove ends the registration of a task that has stopped.
func (r *Runner) remove(id string, one *run) {
	one.cancel(nil)
	r.mu.Lock()
	if r.running[id] == one { // not one of a later lease
		delete(r.running, id)
	}
	r.mu.Unlock()
	close(one.ended)
}

var (
	errCancelled = errors.New("the task was cancelled")
	errLost      = errors.New("the lease of the task was given to another")
)

// run runs one leased task to its end. ctx is the task's own, which cancel ends; it
// ends with the kernel's too.
func (r *Runner) run(ctx, kernel context.Context, t task.Task, cancel context.CancelCauseFunc) {
	renewing := make(chan struct{})
	go func() {
		defer close(renewing)
		r.renew(ctx, t, cancel)
	}()
	outcome := r.invoke(ctx, t)
	cause := context.Cause(ctx)
	cancel(nil)
	<-renewing
	switch {
	case errors.Is(cause, errLost):
		r.opt.Log.Warn("a task runs elsewhere now", "task", t.ID, "kind", t.Kind)
	case kernel.Err() != nil && outcome.State != task.Done:
		r.giveBack(t)
	default:
		if errors.Is(cause, errCancelled) && outcome.State != task.Done {
			outcome.State = task.Cancelled
		}
		if err := r.opt.Queue.End(context.WithoutCancel(kernel), t.ID, t.Lease.Fence, outcome); err != nil {
			r.opt.Log.Error("the end of a task cannot be stored", "task", t.ID, "kind", t.Kind, "error", err)
		}
	}
}

// renew keeps the lease of a task, and cancels its context when the task is
// cancelled or the lease is lost.
func (r *Runner) renew(ctx context.Context, t task.Task, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(r.opt.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		cancelled, err := r.opt.Queue.Renew(ctx, t.ID, t.Lease.Fence, r.opt.Lease, "")
		switch {
		case cancelled:
			cancel(errCancelled)
		case tool.KindOf(err) == tool.Conflict:
			cancel(errLost)
		case err != nil && ctx.Err() == nil: // the lease may still be renewed in time
			r.opt.Log.Error("the lease of a task cannot be renewed", "task", t.ID, "error", err)
		}
	}
}

// invoke runs the handler. A handler that panics has failed.
func (r *Runner) invoke(ctx context.Context, t task.Task) (outcome task.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			r.opt.Log.Error("a task panicked", "task", t.ID, "kind", t.Kind, "panic", p, "stack", string(debug.Stack()))
			outcome = Failed(tool.Errorf("tasks.run", tool.Internal, "the task panicked: %v", p))
		}
	}()
	h := r.handler(t.Kind)
	if h == nil {
		return Failed(tool.Errorf("tasks.run", tool.Internal, "nothing runs tasks of the kind %q", t.Kind))
	}
	return h(ctx, t)
}

// giveBack has a task run again at the next start.
func (r *Runner) giveBack(t task.Task) {
	err := r.opt.Queue.Retry(context.Background(), t.ID, t.Lease.Fence, time.Time{}, "the kernel stopped")
	if err != nil {
		r.opt.Log.Error("a task cannot be given back", "task", t.ID, "error", err)
	}
}

// Failed is the outcome of a task that failed.
func Failed(err error) task.Outcome {
	var e *tool.Error
	if !errors.As(err, &e) {
		e = &tool.Error{Op: "tasks.run", Kind: tool.Failed, Message: err.Error()}
	}
	return task.Outcome{State: task.Failed, Summary: e.Error(), Error: e}
}

// Notice is the text that the parent of an ended task reads.
func Notice(t task.Task) string {
	text := fmt.Sprintf("TASK %s ENDED (%s)", t.ID, t.State)
	if t.Outcome == nil {
		return text
	}
	if t.Outcome.Error != nil {
		text += ": " + t.Outcome.Error.Error()
	}
	if t.Outcome.Summary != "" && t.Outcome.Error == nil {
		text += "\n" + tool.TruncateTo(t.Outcome.Summary, 8000)
	}
	return text
}
