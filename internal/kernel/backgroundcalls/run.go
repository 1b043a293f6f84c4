package backgroundcalls

import (
	"context"
	"encoding/json"
	"time"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/detach"
	"callgate/internal/journal"
	"callgate/internal/journal/outputbus/window"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/tool"
)

// live is what a task that runs here prints.
type live struct {
	task string
	out  *window.Window
	stop func()
	refs int
	// moved is the call that was moved here; nil: the task makes its own.
	moved *detach.Call
}

// enter keeps what a task prints until leave, however many want it.
func (c *Calls) enter(id, call string) *live {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.live[id]
	if one == nil {
		one = &live{task: id, out: &window.Window{}}
		one.stop = c.opt.Output.Watch(call, one.out.Write)
		c.live[id] = one
	}
	one.refs++
	return one
}

// enterMoved is enter for a call that ran already, on behalf of the task that will wait
// for it.
func (c *Calls) enterMoved(id string, running *detach.Call) *live {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := &live{task: id, out: &running.Output, stop: func() {}, refs: 1, moved: running}
	c.live[id] = one
	return one
}

func (c *Calls) leave(one *live) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one.refs--; one.refs > 0 {
		return
	}
	one.stop()
	if c.live[one.task] == one {
		delete(c.live, one.task)
	}
}

// take returns the call that was moved to a task; nil: there is none here.
func (c *Calls) take(id string) *live {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.live[id]; one != nil && one.moved != nil {
		return one
	}
	return nil
}

// output returns what a task that runs here prints; nil: it does not run here.
func (c *Calls) output(id string) *window.Window {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.live[id]; one != nil {
		return one.out
	}
	return nil
}

// run runs a task: see tasks.Handler.
func (c *Calls) run(ctx context.Context, r *tasks.Run) task.Outcome {
	in, err := inputOf(r.Task)
	if err != nil {
		return tasks.Failed(err)
	}
	var result *tool.Result
	if one := c.take(r.ID); one != nil {
		defer c.leave(one)
		stop := c.watch(ctx, r, in, one.out)
		result = c.awaitMoved(ctx, one.moved)
		stop()
	} else {
		one := c.enter(r.ID, in.Call)
		defer c.leave(one)
		stop := c.watch(ctx, r, in, one.out)
		result = c.make(ctx, r, in)
		stop()
	}
	if ctx.Err() != nil {
		c.withdraw(ctx, r.ID, in.Call)
	}
	return tasks.OutcomeOf(result)
}

// awaitMoved waits for the end of a call that was moved here, and ends it with the task.
func (c *Calls) awaitMoved(ctx context.Context, running *detach.Call) *tool.Result {
	select {
	case <-running.Done():
	case <-ctx.Done():
		running.Cancel(context.Canceled)
		<-running.Done() // the gate waits a few seconds for a handler, and no longer
	}
	return running.Result()
}

// make makes the call of a task, once. Of one that was moved here the former process
// knew more: what is on record is all that is left.
func (c *Calls) make(ctx context.Context, r *tasks.Run, in input) *tool.Result {
	if !in.Moved {
		return c.opt.Deferred.Call(ctx, r.Asker, gate.CallRequest{
			ID: in.Call, Name: in.Name, Args: in.Args, Parent: r.Asker.Call, Background: true,
		})
	}
	if made := c.opt.Deferred.Made(ctx, in.Call); made != nil {
		return made
	}
	e := tool.Errorf(op, tool.Cancelled, "the kernel ended while it ran; it leaves nothing behind").
		WithHint("make the call again if it is still wanted")
	return &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e, Call: in.Call}
}

// withdraw takes back what the call of a cancelled task asked a human, so that a late
// yes does not let it run. A task that a closing kernel gives back goes on asking.
func (c *Calls) withdraw(ctx context.Context, id, call string) {
	ctx = context.WithoutCancel(ctx)
	t, err := c.opt.Runner.Store().Get(ctx, id)
	if err != nil || t.CancelledBy == "" {
		return
	}
	if asked, waits := c.waiting(ctx, call); waits {
		no := approval.Answer{Feedback: "the background task was cancelled by " + t.CancelledBy}
		// Somebody may have answered meanwhile. Then that counts.
		_ = c.opt.Approvals.AnswerVouched(ctx, approval.Voucher{By: t.CancelledBy}, asked.ID, no)
	}
}

// waiting returns what a call asked a human who has not answered.
func (c *Calls) waiting(ctx context.Context, call string) (asked approval.Request, waits bool) {
	records, err := c.opt.Journal.Read(ctx, journal.Query{Call: call})
	if err != nil {
		return asked, false
	}
	id := ""
	for _, r := range records {
		switch {
		case r.Kind == journal.Begun || r.Kind == journal.Ended:
			return asked, false
		case r.Ask != nil && r.Ask.Approval != "":
			id = r.Ask.Approval
		}
	}
	if id == "" {
		return asked, false
	}
	asked, err = c.opt.Approvals.Get(ctx, id)
	return asked, err == nil && asked.State == approval.Pending
}

// resultOf returns the result of a task's call; nil: it has none.
func resultOf(t task.Task) *tool.Result {
	if t.Outcome == nil || len(t.Outcome.Data) == 0 {
		return nil
	}
	var r tool.Result
	if json.Unmarshal(t.Outcome.Data, &r) != nil {
		return nil
	}
	return &r
}

// watch tells the conversation of a task when its output has what it asked for, and
// how far it is from time to time. stop ends that.
func (c *Calls) watch(ctx context.Context, r *tasks.Run, in input, out *window.Window) (stop func()) {
	if r.Parent == "" || in.NotifyWhen == "" && in.NotifyEvery <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	var found <-chan struct{}
	end := func() {}
	if pattern, err := window.ParsePattern(in.NotifyWhen); err == nil {
		found, end = out.Find(pattern)
	}
	go func() {
		defer close(stopped)
		defer end()
		c.notify(ctx, r, in, out, found)
	}()
	return func() {
		cancel()
		<-stopped
	}
}

// notify tells of output and progress until ctx ends.
func (c *Calls) notify(ctx context.Context, r *tasks.Run, in input, out *window.Window, found <-chan struct{}) {
	var tick <-chan time.Time
	if in.NotifyEvery > 0 {
		ticker := time.NewTicker(time.Duration(in.NotifyEvery * float64(time.Second)))
		defer ticker.Stop()
		tick = ticker.C
	}
	last := "" // the notice of progress that was told last
	for {
		select {
		case <-ctx.Done():
			return
		case <-found:
			found = nil
			c.tellReady(ctx, r, in, out)
		case <-tick:
			last = c.tellProgress(ctx, r, in, out, last)
		}
	}
}
