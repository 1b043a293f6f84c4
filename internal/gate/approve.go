package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/policy"
	"callgate/internal/journal"
	"callgate/tool"
)

// needsHuman reports whether a human has to approve the call.
func (g *Gate) needsHuman(c *callState) bool {
	return c.decision.Verdict == policy.Approve && !g.Approvals.IsAlwaysApproved(c.call.Principal.Session, c.tool.ID)
}

// awaitApproval puts the exact call before a human, when one must be asked, and
// waits. An edited call is authorized, checked and bound again.
func (g *Gate) awaitApproval(ctx context.Context, c *callState) error {
	const op = "gate.awaitApproval"
	if c.request == nil {
		return nil
	}
	if c.request.State == approval.Pending {
		if err := g.askHuman(ctx, c); err != nil {
			return err
		}
	}
	answer := c.request.Answer
	switch c.request.State {
	case approval.Approved:
	case approval.Expired:
		waited := c.request.Deadline.Sub(c.request.AskedAt)
		return tool.Errorf(op, tool.Denied, "nobody approved %s within %s", c.tool.ID.Dotted(), waited).
			WithHint("ask the user, then try again")
	default:
		e := tool.Errorf(op, tool.Denied, "a human refused %s", c.tool.ID.Dotted())
		if quoted := approval.FenceFeedback(answer.Feedback); quoted != "" {
			return e.WithHint("they said: %s", quoted)
		}
		return e
	}
	if len(answer.Args) == 0 {
		return nil
	}
	c.call.Args = answer.Args
	for _, again := range []step{authorize, g.checkArgs, bindEffects} {
		if err := again(ctx, c); err != nil {
			return err
		}
	}
	c.coercions = append(c.coercions, "a human edited the arguments before approving")
	return nil
}

// askHuman asks, and waits for the answer unless the caller will not.
func (g *Gate) askHuman(ctx context.Context, c *callState) error {
	id := c.request.ID
	if !c.how.noWait {
		g.Approvals.Reserve(id) // the one who waits runs it
	}
	if err := g.Approvals.Submit(ctx, *c.request); err != nil {
		return err
	}
	c.signalQueued() // nobody waits behind a person
	if asked := c.caller.observer.Asked; asked != nil {
		asked(*c.request)
	}
	if c.how.noWait {
		return &waitingError{id}
	}
	settled, err := g.Approvals.Wait(ctx, id)
	if err != nil {
		// The caller went away. The request stays, and the call runs without its
		// caller if the answer is yes.
		g.Approvals.Unreserve(ctx, id)
		return &waitingError{id}
	}
	c.request = &settled
	return nil
}

func newRequest(c *callState) *approval.Request {
	now := time.Now()
	return &approval.Request{
		ID: newID("a"), State: approval.Pending, Call: c.call,
		Workspace: c.caller.place.Workspace, AppFile: c.caller.place.AppFile,
		Risk: c.tool.Runtime.Risk, Reason: c.decision.Reason, Claims: c.claims,
		AskedAt: now, Deadline: now.Add(c.caller.rules.Policy.ApprovalTimeout()),
		Asker: c.caller.id.Requester,
	}
}

// waitingError ends the path without ending its call.
type waitingError struct{ approval string }

func (w *waitingError) Error() string { return "waiting for approval " + w.approval }

func (w *waitingError) answer(c *callState) *tool.Result {
	const text = "%s waits for a human: %s (answer with: callgate approvals approve %s; " +
		"then approvals.collect gives its result)"
	return &tool.Result{
		Status: tool.Waiting, Call: c.call.ID, Approval: w.approval, Warnings: c.coercions,
		Summary: fmt.Sprintf(text, c.tool.ID.Dotted(), c.decision.Reason, w.approval),
	}
}

// CheckEdit checks the arguments that a human edited before they count as an
// answer.
func (g *Gate) CheckEdit(ctx context.Context, r approval.Request, args json.RawMessage) error {
	// An app's own tools are in a scope that bears its file's name.
	at := Place{Workspace: r.Workspace, Scope: Scope(r.AppFile, r.Workspace)}
	c := &callState{caller: &Caller{place: at}, call: r.Call}
	c.call.Name, c.call.Args = r.Call.Tool.String(), args
	for _, next := range []step{g.resolve, g.checkArgs, bindEffects} {
		if err := next(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// RecordAnswer puts an answer on record; the queue calls it before anybody goes
// on.
func (g *Gate) RecordAnswer(_ context.Context, r approval.Request) {
	// The row is durable already; the record follows it as soon as it can.
	_ = g.Journal.Append(g.records.answer(r))
}

// Collect returns the result of a call that was left waiting, once it has
// ended. It reads the journal, so it works after a restart too.
func (g *Gate) Collect(ctx context.Context, call string) (*tool.Result, error) {
	const op = "gate.Collect"
	records, err := g.Journal.Read(ctx, journal.Query{Call: call})
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, tool.Errorf(op, tool.NotFound, "call %s is not in the journal", call)
	}
	for _, r := range records {
		if r.Kind == journal.Ended {
			return g.records.result(ctx, r)
		}
	}
	for r, err := range g.Journal.Follow(ctx, records[len(records)-1].Seq) {
		if err != nil {
			return nil, err
		}
		if r.Call == call && r.Kind == journal.Ended {
			return g.records.result(ctx, r)
		}
	}
	return nil, &tool.Error{
		Op: op, Kind: tool.Cancelled, Message: "stopped waiting for call " + call, Err: context.Cause(ctx),
	}
}
