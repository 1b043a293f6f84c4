// Package answeredcalls ends the calls that a human answered when nobody waited for them
// any more: their asker had left them waiting, or its kernel had ended.
//
// # Law
//
//   - A call that was approved and never begun runs, once, unless the approval is too
//     old. It is a task of the store from the moment of the answer: it can be seen and
//     cancelled there, and a kernel that is killed leaves it to the next one. An approval
//     whose kernel was killed before the task was stored becomes one at the next start.
//   - It is judged by the rules of now, in a session like its asker's.
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
	"slices"
	"time"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
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

// Sessions builds sessions that are never published.
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
	if err := c.start(context.Background(), r); err != nil {
		c.opt.Log.Error("an approved call cannot be begun now; it runs at the next start, if that is soon",
			"call", r.Call.ID, "tool", r.Call.Tool, "error", err)
	}
}

// start stores the task of an approved call, which the caller has reserved, and runs it.
func (c *Calls) start(ctx context.Context, r approval.Request) error {
	data, err := json.Marshal(input{r.ID})
	if err != nil {
		return err
	}
	by := r.Asker
	_, err = c.opt.Runner.Start(ctx, task.Task{
		ID: "answered-" + r.ID, Kind: Kind, Label: r.Call.Tool.Dotted() + ", which a human approved", Input: data,
		Asker: task.Asker{
			Principal: r.Call.Principal, Workspace: r.Workspace, AppFile: r.AppFile, Call: r.Call.ID,
			PID: by.PID, Human: by.Human, Started: by.Started, Root: by.Root,
			Sessions: slices.Clone(by.Sessions), Token: by.Token,
		},
	})
	return err
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
		if c.opt.Approvals.Reserve(r.ID) {
			if err := c.start(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// lastRefusals is how many refusals a kernel that was killed may have left off the record:
// those of its last moment.
const lastRefusals = 20

// recordRefusals puts the ends of calls on record that a human refused, where the kernel
// was killed between the answer and the record. A call of which a human is asked again
// goes on.
func (c *Calls) recordRefusals(ctx context.Context) error {
	goOn := map[string]bool{}
	for _, state := range []approval.State{approval.Pending, approval.Approved} {
		list, err := c.opt.Approvals.List(ctx, state, 0)
		if err != nil {
			return err
		}
		for _, r := range list {
			goOn[r.Call.ID] = true
		}
	}
	for _, state := range []approval.State{approval.Denied, approval.Expired} {
		refused, err := c.opt.Approvals.List(ctx, state, lastRefusals)
		if err != nil {
			return err
		}
		for _, r := range refused {
			if goOn[r.Call.ID] {
				continue
			}
			ended, err := c.opt.Journal.Read(ctx, journal.Query{Call: r.Call.ID, Kind: journal.Ended, Limit: 1})
			if err != nil {
				return err
			}
			if len(ended) == 0 {
				c.opt.Gate.EndUnrun(ctx, r, r.RefusedError())
			}
		}
	}
	return nil
}

// again is how long a task waits that cannot learn how things stand.
const again = 5 * time.Second

// run runs the task of an approved call.
func (c *Calls) run(ctx context.Context, t *tasks.Run) task.Outcome {
	var in input
	if err := json.Unmarshal(t.Input, &in); err != nil {
		return tasks.Failed(err)
	}
	r, err := c.opt.Approvals.Get(ctx, in.Approval)
	if tool.KindOf(err) == tool.NotFound {
		return tasks.Failed(err)
	}
	var result *tool.Result
	if err == nil {
		c.opt.Approvals.Reserve(r.ID) // in a kernel that found the task
		result, err = c.made(ctx, r)
	}
	if err == nil && result == nil {
		err = c.opt.Journal.Err() // nothing can begin now
	}
	switch {
	case err != nil:
		t.Retry(time.Now().Add(again), err.Error())
		return task.Outcome{}
	case result != nil:
		return tasks.OutcomeOf(result)
	case r.State != approval.Approved:
		return task.Outcome{State: task.Done, Summary: "the approval does not count any more: a human is asked again, or was"}
	}
	return tasks.OutcomeOf(c.end(ctx, r))
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
		result = failure(r.Call, session.DoubtError(r.Call.ID))
	}
	return result, err
}

func failure(call tool.Call, e *tool.Error) *tool.Result {
	return &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e, Call: call.ID}
}

// end runs an approved call, or ends it with the reason why it cannot run.
func (c *Calls) end(ctx context.Context, r approval.Request) *tool.Result {
	if time.Since(r.Answer.At) > r.Deadline.Sub(r.AskedAt) { // the yes was to a question of another day
		return c.opt.Gate.EndUnrun(ctx, r, tool.Errorf("answeredcalls.Resume", tool.Denied,
			"%s was approved but never run, and the approval is too old now", r.Call.Tool.Dotted()).
			WithHint("make the call again if it is still wanted"))
	}
	s, err := c.opt.Sessions.Build(ctx, session.Spec{
		ID: r.Call.Principal.Session, Workspace: r.Workspace, AppFile: r.AppFile,
		Agent: r.Call.Principal.Agent, Lane: r.Call.Principal.Lane, Requester: r.Asker, Again: true,
	})
	switch {
	case err != nil && ctx.Err() != nil: // the kernel closes
		return failure(r.Call, unrun(r.Call, err))
	case err != nil: // its folder is gone, or its app file is broken
		c.opt.Log.Error("an answered call cannot go on", "call", r.Call.ID, "tool", r.Call.Tool, "error", err)
		return c.opt.Gate.EndUnrun(ctx, r, unrun(r.Call, err))
	}
	defer s.Close()
	return c.opt.Gate.Resume(ctx, s.Caller(), r)
}

// unrun is why an answered call did not run.
func unrun(call tool.Call, err error) *tool.Error {
	return &tool.Error{
		Op: "answeredcalls.Finish", Kind: tool.KindOf(err), Err: err,
		Message: "a human answered, but " + call.Tool.Dotted() + " cannot go on: its session cannot be opened again",
		Hint:    "nothing was run; mend that, and make the call again",
	}
}
