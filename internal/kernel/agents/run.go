package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"callgate/internal/amount"
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/owed"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/llm"
	"callgate/tool"
)

// progress is what a task keeps between its runs.
type progress struct {
	Begun  time.Time `json:"begun,omitzero"`  // when it first worked; zero: it waits for others
	Before llm.Usage `json:"before,omitzero"` // what its own requests had cost then
	Tries  int       `json:"tries,omitempty"` // that failed
	Error  string    `json:"error,omitempty"` // of the last of them
	// Corrected is what an app was told whose output did not fit; "": it fits, or was not seen.
	Corrected string `json:"corrected,omitempty"`
}

func progressOf(t task.Task) (p progress) {
	_ = json.Unmarshal(t.Data, &p) // of one that waits there is none
	return p
}

// Outcome is what is known of an agent's work that has ended.
type Outcome struct {
	Reason    history.Reason `json:"reason,omitempty"`
	Answer    string         `json:"answer,omitempty"` // what its model said last
	ToolCalls int            `json:"tool_calls_count"`
	Usage     llm.Usage      `json:"usage"`
}

// outcomeOf returns what is known of an agent's work that has ended. One that never
// began has no data.
func outcomeOf(t task.Task) (o Outcome) {
	if t.Outcome != nil {
		_ = json.Unmarshal(t.Outcome.Data, &o)
	}
	return o
}

// run has an agent do its work, when it is its turn.
func (a *Agents) run(kernel context.Context, r *tasks.Run) task.Outcome {
	o, err := orderOf(r.Task)
	if err != nil {
		return tasks.Failed(err)
	}
	ctx, cancel := context.WithCancelCause(kernel)
	defer cancel(nil)
	a.mu.Lock()
	a.working[r.ID], a.doing[o.Agent] = cancel, r.ID
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.working, r.ID)
		if a.doing[o.Agent] == r.ID {
			delete(a.doing, o.Agent)
		}
		a.mu.Unlock()
	}()
	p := progressOf(r.Task)
	if err := a.begin(ctx, r, o, &p); err != nil {
		return a.ended(kernel, ctx, r, o, p, history.End{}, err)
	}
	left := o.Timeout - time.Since(p.Begun)
	if o.App != nil {
		left = o.Timeout // the time in which its caller was closed does not count
	}
	timer := time.AfterFunc(left, func() {
		cancel(tool.Errorf(op, tool.Timeout, "it was stopped: it may take %v", o.Timeout))
	})
	defer timer.Stop()
	end, err := a.work(ctx, r, o, &p)
	return a.ended(kernel, ctx, r, o, p, end, err)
}

// begin waits until it is the agent's turn, and notes that it works.
func (a *Agents) begin(ctx context.Context, r *tasks.Run, o order, p *progress) error {
	if token := r.Asker.Token; token != "" {
		if err := a.opt.Tokens.Check(ctx, token); err != nil {
			return err
		}
	}
	if err := wanted(ctx, a.opt.Runner.Store(), o); err != nil {
		return err
	}
	if err := a.awaitTurn(ctx, r, o); err != nil {
		return err
	}
	if err := a.awaitCaller(ctx, r, o); err != nil {
		return err
	}
	all, err := a.Tree(ctx, o.Root)
	if err == nil {
		err = overBudget(all, o.Limits)
	}
	if err != nil || !p.Begun.IsZero() {
		return err
	}
	p.Begun = time.Now()
	if info, err := a.opt.Infos.Get(ctx, o.Agent); err == nil {
		p.Before = info.Own
	}
	if err := r.Save(ctx, p); err != nil {
		return err
	}
	if o.Progress {
		a.tell(ctx, r, o, 0, "began")
	}
	return nil
}

// wanted returns an error if an agent for which this one works has ended: a kernel that was
// killed may have noted that it was stopped, and nothing more.
func wanted(ctx context.Context, store task.Store, o order) error {
	for i := 0; o.For != "" && i < len(o.Above); i++ {
		above, err := store.Get(ctx, o.For)
		switch {
		case tool.KindOf(err) == tool.NotFound || err == nil && above.State.Final():
			return tool.Errorf(op, tool.Cancelled, "an agent for which it works has ended")
		case err != nil:
			return err
		}
		next, err := orderOf(above)
		if err != nil {
			return err
		}
		o.For = next.For
	}
	return nil
}

// awaitTurn waits until fewer agents of its parent's that were started earlier have not
// ended than may work at once.
func (a *Agents) awaitTurn(ctx context.Context, r *tasks.Run, o order) error {
	for {
		changed := a.change()
		active, err := a.opt.Runner.Store().List(ctx, task.Query{Parent: r.Parent, Kinds: []string{Kind}, Active: true})
		if err != nil {
			return err
		}
		// They are listed in the order in which they were started.
		earlier := slices.IndexFunc(active, func(t task.Task) bool { return t.ID == r.ID })
		if earlier >= 0 && earlier < o.Workers {
			return nil
		}
		r.Progress("waits for others")
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// work has the agent work, again if it failed and may be tried again.
func (a *Agents) work(ctx context.Context, r *tasks.Run, o order, p *progress) (history.End, error) {
	a.opt.Permissions.Bound(o.Agent, r.Parent, o.Mode)
	for {
		end, err := a.turn(ctx, r, o, *p)
		if o.App != nil && err == nil && end.Reason == history.Done {
			again, err := checkOutput(ctx, a, r, o, p)
			if again {
				continue
			}
			return end, err
		}
		if ctx.Err() != nil || p.Tries >= o.Retries || !passes(end, err) {
			return end, err
		}
		p.Tries++
		p.Error = cmp.Or(end.Error, string(end.Reason))
		if err != nil {
			p.Error = err.Error()
		}
		if err := r.Save(ctx, p); err != nil {
			return end, err
		}
		r.Log(ctx, fmt.Sprintf("try %d failed, and it is tried again: %s", p.Tries, p.Error), nil)
		select {
		case <-time.After(time.Second << (p.Tries - 1)):
		case <-ctx.Done():
		}
	}
}

// passes reports whether a failure may pass when the work is tried again.
func passes(end history.End, err error) bool {
	if err != nil {
		kind := tool.KindOf(err)
		return kind == tool.Unavailable || kind == tool.Timeout || kind == tool.Conflict
	}
	return slices.Contains([]history.Reason{history.Failed, history.TimedOut, history.CutOff, history.Stuck}, end.Reason)
}

// turn runs the turn of an agent, or what is left of it.
func (a *Agents) turn(ctx context.Context, r *tasks.Run, o order, p progress) (history.End, error) {
	spec, err := a.specOf(ctx, r.Task, o)
	if err != nil {
		return history.End{}, err
	}
	h := conversation.Headless{
		Spec: spec, ID: r.ID, By: "agent " + o.Above[0],
		Message: llm.TextMessage(llm.User, words(o)), Event: a.follow(ctx, r, o),
	}
	if p.Corrected != "" {
		h.ID = r.ID + "-output"
		h.Message = llm.TextMessage(llm.User, p.Corrected)
	}
	if p.Tries > 0 {
		h.ID = fmt.Sprintf("%s-try%d", r.ID, p.Tries+1)
		h.Message = llm.TextMessage(llm.User, "Your last try ended before it was done: "+p.Error+"\nGo on with your work.")
	}
	switch _, err := a.opt.Infos.Get(ctx, o.Agent); {
	case err == nil:
		h.Spec.Resume = o.Agent
	case tool.KindOf(err) != tool.NotFound:
		return history.End{}, err
	case h.ID != o.Agent: // its first try never got so far as to be said
		h.ID = o.Agent
		h.Message = llm.TextMessage(llm.User, words(o))
	}
	r.Progress("works")
	_, end, err := a.opt.Conversations.Run(ctx, h)
	return end, err
}

// progressEvery is how often an agent's parent is told how far it is.
const progressEvery = time.Minute

// follow looks at what an agent does: how far it is, and what all of them cost.
func (a *Agents) follow(ctx context.Context, r *tasks.Run, o order) func(history.Event) {
	calls, told, last := 0, 0, time.Now()
	return func(e history.Event) {
		switch {
		case e.Type == history.CallMade:
			calls++
			r.Progress("works: " + amount.Of(calls, "call"))
			if o.Progress && time.Since(last) >= progressEvery {
				told, last = told+1, time.Now()
				a.tell(ctx, r, o, told, "has made "+amount.Of(calls, "call"))
			}
		case e.Usage != nil && o.App != nil && a.overCaller(ctx, r.Task) != nil:
			a.halt([]*Agent{{last: r.Task}}, a.overCaller(ctx, r.Task))
		case e.Usage != nil && (o.Limits.Tokens > 0 || o.Limits.Cost > 0):
			all, err := a.Tree(ctx, o.Root)
			if err != nil {
				return // the next event looks again
			}
			if err := overBudget(all, o.Limits); err != nil {
				a.halt(all, err)
			}
		}
	}
}

// halt stops agents for a reason that they tell.
func (a *Agents) halt(all []*Agent, why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range all {
		if cancel := a.working[one.last.ID]; cancel != nil {
			cancel(why)
		}
	}
}

// leaveTime is how long what an agent began is waited for when it has ended.
const leaveTime = 30 * time.Second

// ended is how the work of an agent ended. What it began has ended before.
func (a *Agents) ended(
	kernel, ctx context.Context, r *tasks.Run, o order, p progress, end history.End, err error,
) task.Outcome {
	cause := context.Cause(kernel)
	if cause != nil && !tasks.IsCancelled(kernel) { // the kernel closes: it goes on at the next start
		return tasks.Failed(cause)
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	began := owed.Debts{Parent: o.Agent, Store: a.opt.Runner.Store(), Runner: a.opt.Runner}
	if err := began.Cancel(within); err != nil {
		a.opt.Log.Warn("what an agent began does not end", "agent", o.Agent, "error", err)
	}
	made := Outcome{Reason: end.Reason, Usage: spentOn(within, a, o.Agent, p)}
	if info, events, err := a.opt.Conversations.History(within, o.Agent, 0); err == nil {
		made.ToolCalls = info.ToolCalls
		var last history.LastAnswer
		for _, e := range events {
			last.Add(e)
		}
		made.Answer = last.Text
	}
	outcome := task.Outcome{State: task.Failed}
	var limit *tool.Error
	switch {
	case cause != nil: // somebody stopped it, and the runner says so
		outcome.State = task.Cancelled
	case errors.As(context.Cause(ctx), &limit):
		outcome.Error = limit
	case tool.KindOf(err) == tool.Cancelled:
		outcome.State, outcome.Error = task.Cancelled, tasks.Failed(err).Error
	case err != nil:
		outcome.Error = tasks.Failed(err).Error
	case end.Reason == history.Done:
		outcome.State = task.Done
	case end.Reason == history.Cancelled:
		outcome.State = task.Cancelled
	default:
		outcome.Error = tool.Errorf(op, tool.Failed, "its turn ended: %s", cmp.Or(end.Error, string(end.Reason)))
	}
	data, err := json.Marshal(made)
	if err != nil {
		return tasks.Failed(err)
	}
	outcome.Data, outcome.Summary = data, tool.TruncateTo(made.Answer, 2000)
	return outcome
}
