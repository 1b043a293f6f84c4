// Package answeredcalls ends the calls that a human answered when nobody waited for them
// any more: their asker had left them waiting, or its kernel had ended.
//
// # Law
//
//   - A call that was approved and never begun runs, once, unless the approval is too
//     old. It is a task of the store from the moment of the answer: it can be seen and
//     cancelled there, and a kernel that is killed leaves it to the next one. An approval
//     whose kernel was killed before the task was stored becomes one at the next start.
//   - It is judged by the rules of now, in a session like its asker's. Whom the asker works
//     for is asked about it, also about what a human made of its arguments.
//   - What became of a call that did begin is the journal's to say: it ended, or it is in
//     doubt, and is not made here.
//   - A call that was answered and cannot run ends with the reason, on record. So does one
//     that was refused, also when the kernel was killed before it could say so.
//   - Who made the call is told by asking for it by its ID, and by nothing else: the task
//     has no parent.
package answeredcalls

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/tool"
)

// Kind is the kind of the tasks.
const Kind = "answered_call"

// Gate is what is done with answered calls.
type Gate interface {
	Resume(ctx context.Context, c *gate.Caller, r approval.Request) *tool.Result
	EndUnrun(ctx context.Context, r approval.Request, reason error) *tool.Result
	Outcome(ctx context.Context, call string) (gate.Outcome, *tool.Result, error)
}

// Approvals is where the answers are.
type Approvals interface {
	Get(ctx context.Context, id string) (approval.Request, error)
	List(ctx context.Context, state approval.State, limit int) ([]approval.Request, error)
	Reserve(id string) bool
	MarkUsed(ctx context.Context, id string) error
	Withdraw(ctx context.Context, id string) error
}

// Sessions builds sessions that are never published, of one who works for another with no
// more than it had.
type Sessions interface {
	Build(ctx context.Context, spec session.Spec) (*session.Session, error)
}

// Options is what Calls needs of the kernel. All fields are required.
type Options struct {
	Runner    *tasks.Runner
	Journal   *journal.Journal
	Gate      Gate
	Approvals Approvals
	Sessions  Sessions
	Log       *slog.Logger
	// Go runs work in the background, unless the kernel closes.
	Go func(func(context.Context)) bool
	// Settle waits until it is decided what becomes of a call that an earlier process
	// left.
	Settle func(ctx context.Context, call string)
}

// Calls ends answered calls. Make one with New.
type Calls struct{ opt Options }

// New makes it, and has the runner run its tasks.
func New(o Options) *Calls {
	c := &Calls{o}
	o.Runner.Handle(Kind, c.run)
	return c
}

// input is what a task is told.
type input struct {
	Approval string `json:"approval"`
}

// Finish ends an answered call, unless somebody waits for it, who does so.
func (c *Calls) Finish(r approval.Request) {
	if !c.opt.Approvals.Reserve(r.ID) {
		return
	}
	if r.State != approval.Approved {
		c.opt.Go(func(ctx context.Context) { c.opt.Gate.EndUnrun(ctx, r, r.RefusedError()) })
		return
	}
	if _, err := c.start(context.Background(), r); err != nil {
		c.opt.Log.Error("an approved call cannot be begun now; it runs at the next start, if that is soon",
			"call", r.Call.ID, "tool", r.Call.Tool, "error", err)
	}
}

// start stores the task of an approved call, which the caller has reserved, and runs it.
func (c *Calls) start(ctx context.Context, r approval.Request) (task.Task, error) {
	data, err := json.Marshal(input{r.ID})
	if err != nil {
		return task.Task{}, err
	}
	return c.opt.Runner.Start(ctx, task.Task{
		ID: "answered-" + r.ID, Kind: Kind, Label: r.Call.Tool.Dotted() + ", which a human approved",
		Asker: deferred.ApprovedFor(r), Input: data,
	})
}

// Resume ends what an earlier process left: refusals that are not on record, and calls
// that were approved and never ran.
func (c *Calls) Resume(ctx context.Context) error {
	if err := c.recordRefusals(ctx); err != nil {
		return err
	}
	approved, err := c.opt.Approvals.List(ctx, approval.Approved, 0)
	if err != nil {
		return err
	}
	for _, r := range approved {
		if !c.opt.Approvals.Reserve(r.ID) {
			continue
		}
		t, err := c.start(ctx, r)
		if err != nil {
			return err
		}
		if t.State.Final() { // by a kernel that was killed before it could end the call
			c.opt.Gate.EndUnrun(ctx, r, cancelled(r.Call))
		}
	}
	return nil
}

// lastRefusals is how many refusals a kernel that was killed may have left off the record:
// those of its last moment.
const lastRefusals = 20

// recordRefusals puts the ends of calls on record that a human refused, where the kernel
// was killed between the answer and the record.
func (c *Calls) recordRefusals(ctx context.Context) error {
	for _, state := range []approval.State{approval.Denied, approval.Expired} {
		refused, err := c.opt.Approvals.List(ctx, state, lastRefusals)
		if err != nil {
			return err
		}
		for _, r := range refused {
			records, err := c.opt.Journal.Read(ctx, journal.Query{Call: r.Call.ID})
			if err != nil {
				return err
			}
			if waitsFor(records, r.ID) {
				c.opt.Gate.EndUnrun(ctx, r, r.RefusedError())
			}
		}
	}
	return nil
}

// waitsFor reports whether a call has not begun and not ended, and an approval is the last
// one that a human was asked for. A call that would do something else by now is asked for
// again; then what became of its first approval says nothing.
func waitsFor(records []journal.Record, asked string) bool {
	last := ""
	for _, r := range records {
		switch {
		case r.Kind == journal.Begun || r.Kind == journal.Ended:
			return false
		case r.Ask != nil && r.Ask.Approval != "":
			last = r.Ask.Approval
		}
	}
	return last == asked
}

// again is how long a task waits that cannot learn how things stand, or cannot begin.
const again = 5 * time.Second

// run runs the task of an approved call.
func (c *Calls) run(ctx context.Context, t *tasks.Run) task.Outcome {
	var in input
	if err := json.Unmarshal(t.Input, &in); err != nil {
		return tasks.Failed(err)
	}
	for {
		outcome, err := c.attempt(ctx, in.Approval)
		if err == nil {
			return outcome
		}
		t.Progress("it waits: " + err.Error())
		select {
		case <-time.After(again):
		case <-ctx.Done():
			c.cancel(ctx, in.Approval)
			return tasks.Failed(err)
		}
	}
}

// attempt runs an approved call, or says what became of it. An error says that this cannot
// be known now, or that nothing can begin.
func (c *Calls) attempt(ctx context.Context, id string) (task.Outcome, error) {
	r, err := c.opt.Approvals.Get(ctx, id)
	if tool.KindOf(err) == tool.NotFound {
		return tasks.Failed(err), nil
	}
	if err != nil {
		return task.Outcome{}, err
	}
	c.opt.Approvals.Reserve(r.ID) // in a kernel that found the task
	result, err := c.made(ctx, r)
	switch {
	case err != nil:
		return task.Outcome{}, err
	case result != nil:
		return tasks.OutcomeOf(result), nil
	case r.State != approval.Approved:
		const summary = "the approval does not count any more: a human is asked again, or was"
		return task.Outcome{State: task.Done, Summary: summary}, nil
	case c.opt.Journal.Err() != nil:
		return task.Outcome{}, c.opt.Journal.Err()
	}
	if result, err = c.end(ctx, r); err != nil {
		return task.Outcome{}, err
	}
	return tasks.OutcomeOf(result), nil
}

// cancel ends the call of a task that was cancelled before it began.
func (c *Calls) cancel(ctx context.Context, id string) {
	if !tasks.IsCancelled(ctx) {
		return // the next kernel has it
	}
	ctx = context.WithoutCancel(ctx)
	if r, err := c.opt.Approvals.Get(ctx, id); err == nil && r.State == approval.Approved {
		c.opt.Gate.EndUnrun(ctx, r, cancelled(r.Call))
	}
}

func cancelled(call tool.Call) error {
	return tool.Errorf("answeredcalls.run", tool.Cancelled,
		"%s was approved, and cancelled before it began", call.Tool.Dotted())
}

// made returns what became of a call that began before; nil: it did not.
func (c *Calls) made(ctx context.Context, r approval.Request) (*tool.Result, error) {
	c.opt.Settle(ctx, r.Call.ID)
	outcome, result, err := c.opt.Gate.Outcome(ctx, r.Call.ID)
	if err != nil || outcome != gate.Ended && outcome != gate.InDoubt {
		return nil, err
	}
	if r.State == approval.Approved {
		err = c.opt.Approvals.MarkUsed(ctx, r.ID)
	}
	if outcome == gate.InDoubt {
		e := session.DoubtError(r.Call.ID)
		result = &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e, Call: r.Call.ID}
	}
	return result, err
}

// end runs an approved call, or ends it with the reason why it cannot run. An error says
// that ctx ended before.
func (c *Calls) end(ctx context.Context, r approval.Request) (*tool.Result, error) {
	if time.Since(r.Answer.At) > r.Deadline.Sub(r.AskedAt) { // the yes was to a question of another day
		return c.opt.Gate.EndUnrun(ctx, r, tool.Errorf("answeredcalls.Resume", tool.Denied,
			"%s was approved but never run, and the approval is too old now", r.Call.Tool.Dotted()).
			WithHint("make the call again if it is still wanted")), nil
	}
	s, err := c.opt.Sessions.Build(ctx, session.Spec{
		ID: r.Call.Principal.Session, Workspace: r.Workspace, AppFile: r.AppFile,
		Agent: r.Call.Principal.Agent, Lane: r.Call.Principal.Lane, Requester: r.Asker, Again: true,
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil: // its folder is gone, or its app file is broken
		c.opt.Log.Error("an answered call cannot go on", "call", r.Call.ID, "tool", r.Call.Tool, "error", err)
		return c.opt.Gate.EndUnrun(ctx, r, unrun(r.Call, err)), nil
	}
	defer s.Close()
	return c.opt.Gate.Resume(ctx, s.Caller(), r), nil
}

// unrun is why an answered call did not run.
func unrun(call tool.Call, err error) *tool.Error {
	return &tool.Error{
		Op: "answeredcalls.Finish", Kind: tool.KindOf(err), Err: err,
		Message: "a human answered, but " + call.Tool.Dotted() + " cannot go on: its session cannot be opened again",
		Hint:    "nothing was run; mend that, and make the call again",
	}
}
