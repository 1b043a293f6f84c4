package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"callgate/internal/conversation/history"
	"callgate/internal/task"
	"callgate/tool"
)

// Run is a task that runs here, as its handler sees it.
type Run struct {
	task.Task
	runner *Runner
	cancel context.CancelCauseFunc
	ended  chan struct{} // closed when its end is stored

	mu       sync.Mutex
	progress string
	back     *giveBack
}

// giveBack is how a handler gives its task back.
type giveBack struct {
	at    time.Time
	data  json.RawMessage
	retry bool
	why   string
}

// Save keeps data between runs of the task: after a crash the next run finds it in
// Data. A json.RawMessage is kept as it is.
func (r *Run) Save(ctx context.Context, data any) error {
	text, err := encode("tasks.Save", data)
	if err != nil {
		return err
	}
	err = r.runner.opt.Leases.Save(ctx, r.ID, r.Lease.Fence, text)
	switch {
	case err == nil:
		r.Data = text
	case tool.KindOf(err) == tool.Conflict:
		r.cancel(errLost)
	}
	return err
}

// Log adds a line to the task's log, for people. data may be nil. A line that cannot
// be stored stops nothing.
func (r *Run) Log(ctx context.Context, text string, data any) {
	raw, err := encode("tasks.Log", data)
	if err == nil {
		e := task.Entry{At: time.Now(), Text: tool.TruncateTo(text, maxEntry), Data: raw}
		err = r.runner.opt.Logs.Append(context.WithoutCancel(ctx), r.ID, e, keepEntries)
	}
	if err != nil {
		r.runner.opt.Log.Warn("the log of a task cannot be written", "task", r.ID, "error", err)
	}
}

// maxEntry is the most bytes of a line of a log.
const maxEntry = 4000

// Progress notes how far the task is, in a line for people. It is stored with the next
// heartbeat.
func (r *Run) Progress(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = tool.TruncateTo(text, maxEntry)
}

// Again has the task given back when the handler returns, to be run at that time with
// that data (nil: what was saved last). The outcome is ignored then, unless the task is
// cancelled, and its attempts begin anew.
func (r *Run) Again(at time.Time, data any) {
	r.giveBack(giveBack{at: at}, data)
}

// Retry has the task given back when the handler returns: this attempt did not succeed,
// and why says why. It is run again at that time; when its attempts are used up it has
// failed.
func (r *Run) Retry(at time.Time, why string) {
	r.giveBack(giveBack{at: at, retry: true, why: why}, nil)
}

func (r *Run) giveBack(b giveBack, data any) {
	raw, err := encode("tasks.Again", data)
	if err != nil {
		r.runner.opt.Log.Error("the data of a task cannot be kept", "task", r.ID, "error", err)
	}
	b.data = raw
	r.mu.Lock()
	defer r.mu.Unlock()
	r.back = &b
}

func (r *Run) wants() *giveBack {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.back
}

// encode writes data as JSON; nil stays nil.
func encode(op string, data any) (json.RawMessage, error) {
	switch data := data.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return data, nil
	}
	text, err := json.Marshal(data)
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the data of a task cannot be written", Err: err}
	}
	return text, nil
}

// begin runs a leased task in the background. It is registered first: who starts a
// task can wait for it.
func (r *Runner) begin(t task.Task) {
	ctx, cancel := context.WithCancelCause(context.Background())
	one := &Run{Task: t, runner: r, cancel: cancel, ended: make(chan struct{})}
	r.mu.Lock()
	r.running[t.ID] = one
	r.startBeat()
	r.mu.Unlock()
	began := r.opt.Go(func(kernel context.Context) {
		defer r.remove(one)
		defer context.AfterFunc(kernel, func() { cancel(history.KernelClosed) })()
		r.run(ctx, kernel, one)
	})
	if !began {
		r.release(one)
		r.remove(one)
	}
}

// remove ends the registration of a task that has stopped.
func (r *Runner) remove(one *Run) {
	one.cancel(nil)
	r.mu.Lock()
	if r.running[one.ID] == one { // not one of a later lease
		delete(r.running, one.ID)
	}
	beat := r.stopBeat()
	r.mu.Unlock()
	beat.wait()
	close(one.ended)
}

// run runs one leased task to its end. ctx is the task's own, which ends with the
// kernel's too.
func (r *Runner) run(ctx, kernel context.Context, one *Run) {
	outcome := r.invoke(ctx, one)
	cause := context.Cause(ctx)
	back := one.wants()
	switch {
	case errors.Is(cause, errLost):
		r.opt.Log.Warn("a task runs elsewhere now", "task", one.ID, "kind", one.Kind)
	case errors.Is(cause, errCancelled):
		if outcome.State != task.Done && outcome.State != task.InDoubt || back != nil {
			outcome.State = task.Cancelled
		}
		r.end(kernel, one, outcome)
	case back != nil:
		r.giveBack(kernel, one, *back)
	case kernel.Err() != nil && outcome.State != task.Done && outcome.State != task.InDoubt:
		r.release(one)
	default:
		r.end(kernel, one, outcome)
	}
}

// invoke runs the handler. A handler that panics has failed.
func (r *Runner) invoke(ctx context.Context, one *Run) (outcome task.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			r.opt.Log.Error("a task panicked", "task", one.ID, "kind", one.Kind, "panic", p, "stack", string(debug.Stack()))
			one.mu.Lock()
			one.back = nil
			one.mu.Unlock()
			outcome = Failed(tool.Errorf("tasks.run", tool.Internal, "the task panicked: %v", p))
		}
	}()
	h, _ := r.handler(one.Kind)
	if h == nil {
		return Failed(tool.Errorf("tasks.run", tool.Internal, "nothing runs tasks of the kind %q", one.Kind))
	}
	return h(ctx, one)
}

// end stores how a task ended.
func (r *Runner) end(kernel context.Context, one *Run, o task.Outcome) {
	if err := task.CheckOutcome(one.ID, o); err != nil {
		o = Failed(err)
	}
	r.store(kernel, one, func(ctx context.Context) error {
		if r.opt.Recorded != nil {
			if err := r.opt.Recorded(ctx); err != nil {
				return err
			}
		}
		return r.opt.Leases.End(ctx, one.ID, one.Lease.Fence, o)
	})
}

// giveBack stores that a task is to be run again.
func (r *Runner) giveBack(kernel context.Context, one *Run, b giveBack) {
	r.store(kernel, one, func(ctx context.Context) error {
		if b.retry {
			return r.opt.Leases.Retry(ctx, one.ID, one.Lease.Fence, b.at, b.why)
		}
		return r.opt.Leases.Again(ctx, one.ID, one.Lease.Fence, b.at, b.data)
	})
}

// release has a task run again at the next start.
func (r *Runner) release(one *Run) {
	err := r.opt.Leases.Release(context.Background(), one.ID, one.Lease.Fence)
	if err != nil {
		r.opt.Log.Error("a task cannot be given back", "task", one.ID, "kind", one.Kind, "error", err)
	}
}

// The times between two attempts to store an end.
const (
	storeAgain    = time.Second
	maxStoreAgain = time.Minute
)

// store stores the end of a run. What cannot be stored now is stored later: until then
// the lease is renewed. A kernel that closes tries once more; then the task counts as
// one that its holder was lost with.
func (r *Runner) store(kernel context.Context, one *Run, write func(context.Context) error) {
	for wait := storeAgain; ; wait = min(2*wait, maxStoreAgain) {
		err := write(context.WithoutCancel(kernel))
		switch kind := tool.KindOf(err); {
		case err == nil:
			r.stored(kernel, one)
			return
		case kind == tool.Conflict || kind == tool.NotFound:
			r.opt.Log.Warn("a task runs elsewhere now", "task", one.ID, "kind", one.Kind)
			return
		}
		r.opt.Log.Error("the end of a task cannot be stored", "task", one.ID, "kind", one.Kind, "error", err)
		if kernel.Err() != nil {
			return
		}
		select {
		case <-time.After(wait):
		case <-kernel.Done():
		}
	}
}

// stored tells of an end that is stored, or has the runner look at when the task is
// due again.
func (r *Runner) stored(kernel context.Context, one *Run) {
	_, byItself := r.handler(one.Kind)
	if one.Parent == "" && one.wants() == nil {
		return
	}
	t, err := r.opt.Store.Get(context.WithoutCancel(kernel), one.ID)
	switch {
	case err != nil:
		r.opt.Log.Error("a task that ended cannot be read", "task", one.ID, "error", err)
	case t.State.Final():
		r.ended(t)
	case byItself:
		r.expect()
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

// OutcomeOf is the outcome of a task from the result of its call.
func OutcomeOf(r *tool.Result) task.Outcome {
	data, err := json.Marshal(r)
	if err != nil {
		return Failed(err)
	}
	o := task.Outcome{State: task.Failed, Summary: r.Summary, Data: data, ArtifactRef: r.ArtifactRef, Error: r.Error}
	switch kind := tool.KindOf(r.Err()); {
	case r.Status == tool.Success:
		o.State = task.Done
	case kind == tool.InDoubt:
		o.State = task.InDoubt
	case kind == tool.Cancelled:
		o.State = task.Cancelled
	}
	return o
}
