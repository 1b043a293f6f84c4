package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/binding"
	"callgate/internal/gate/policy"
	"callgate/internal/gate/rulefiles"
	"callgate/internal/journal"
	"callgate/internal/registry"
	"callgate/tool"
)

// needsHuman reports whether a human has to approve the call. A call that changes
// rules is approved by itself, whatever is granted.
func (c *callState) needsHuman() bool {
	return len(c.ruleFiles) > 0 || c.decision.Verdict == policy.Approve || c.asksByHook()
}

// protectRules refuses a call that changes rules where no human can be asked: the
// kernel's own calls wait for nobody.
func protectRules(_ context.Context, c *callState) error {
	if len(c.ruleFiles) == 0 {
		return nil
	}
	if c.call.Principal.Daemon {
		const text = "%s was not run: %s, and nobody can be asked in a setup step or a scheduled call"
		return tool.Errorf("gate.protectRules", tool.Denied, text, c.tool.ID.Dotted(), rulefiles.Reason(c.ruleFiles)).
			WithHint("a human makes this change, or approves a call made in a session")
	}
	if reason := rulefiles.Reason(c.ruleFiles); c.decision.Verdict == policy.Approve {
		c.decision.Reason = reason + "; " + c.decision.Reason
	} else {
		c.decision.Reason = reason
	}
	return nil
}

// maxAsks limits how often a human is asked about one call whose effects keep
// changing.
const maxAsks = 3

// awaitApproval puts the exact call before a human, when one must be asked, and
// waits. An approved call is bound again, because what was shown is what runs:
// if it would now touch something else, the human is asked again.
func (g *Gate) awaitApproval(ctx context.Context, c *callState) error {
	if c.request == nil {
		return nil
	}
	for asks := 1; ; asks++ {
		if err := g.awaitAnswer(ctx, c); err != nil {
			return err
		}
		shown, err := g.bindApproved(ctx, c)
		if err != nil || slices.Equal(shown, c.claims) {
			return err
		}
		if asks == maxAsks {
			return changedError(c, shown, "each time after it was approved")
		}
		if err := g.askAgain(ctx, c, shown); err != nil {
			return err
		}
	}
}

// awaitAnswer returns when the call's request is approved.
func (g *Gate) awaitAnswer(ctx context.Context, c *callState) error {
	if c.request.State == approval.Pending {
		if err := g.askHuman(ctx, c); err != nil {
			return err
		}
	}
	if c.request.State == approval.Approved {
		return nil
	}
	return c.request.RefusedError()
}

// bindApproved binds an approved call again and returns the claims that the
// human approved. An edited call is authorized and checked again first.
func (g *Gate) bindApproved(ctx context.Context, c *callState) (shown []tool.Claim, err error) {
	answer := c.request.Answer
	steps := []step{bindEffects, authorizeCall}
	if c.caller = c.caller.atCall(); c.caller.narrowed() != nil { // the rules may have become stricter meanwhile
		steps = []step{authorize, bindEffects, authorizeCall}
	}
	shown = c.request.Claims
	if len(answer.Args) > 0 {
		c.call.Args, shown = answer.Args, answer.Claims
		steps = []step{authorize, g.checkArgs, bindEffects, authorizeCall, hookSteps{g}.recheck}
	}
	for _, again := range steps {
		if err := again(ctx, c); err != nil {
			return nil, err
		}
	}
	if len(answer.Args) > 0 {
		c.coercions = append(c.coercions, "a human edited the arguments before approving")
	}
	return shown, nil
}

// askAgain replaces an approved request by one for what the call would do now.
// The first is withdrawn before, so that no process runs the call by it.
func (g *Gate) askAgain(ctx context.Context, c *callState, shown []tool.Claim) error {
	if err := g.Approvals.Withdraw(ctx, c.request.ID); err != nil {
		return err
	}
	next := g.newRequest(c)
	next.Asker = c.request.Asker
	changed := binding.Difference(shown, c.claims)
	next.Reason = fmt.Sprintf("%s was approved, and since then %s", c.tool.ID.Dotted(), changed)
	if len(c.ruleFiles) > 0 {
		next.Reason = rulefiles.Reason(c.ruleFiles) + "; " + next.Reason
	}
	c.request = next
	_, err := g.Journal.Commit(ctx, g.records.ask(c, journal.Wait, next.Reason))
	return err
}

// withdrawApproval takes back the approval of a call that ends without having
// begun, so that the next start does not run it.
func (g *Gate) withdrawApproval(ctx context.Context, c *callState) {
	if c.request != nil && c.request.State == approval.Approved && c.stage < recordedBegun {
		// If the store fails now, the approval is too old soon.
		_ = g.Approvals.Withdraw(context.WithoutCancel(ctx), c.request.ID)
	}
}

// checkBinding binds a call that was approved, or decided by where its paths
// lead, once more when it holds its locks, which may have taken a while.
func checkBinding(ctx context.Context, c *callState) error {
	if c.request == nil && !c.byArguments {
		return nil
	}
	held := c.claims
	if err := bindEffects(ctx, c); err != nil {
		return err
	}
	if !slices.Equal(held, c.claims) {
		return changedError(c, held, "while it waited for its locks")
	}
	if path := c.disk.Changed(); path != "" {
		const text = "%s was not run: %s changed while it waited, and with it what the command may be"
		return tool.Errorf("gate.checkBinding", tool.Conflict, text, c.tool.ID.Dotted(), path).
			WithHint("call it again")
	}
	return nil
}

// changedError refuses a call that would not do what its human approved.
func changedError(c *callState, shown []tool.Claim, when string) error {
	const text = "%s was not run: %s, %s"
	name := c.tool.ID.Dotted()
	return tool.Errorf("gate.awaitApproval", tool.Conflict, text, name, binding.Difference(shown, c.claims), when).
		WithHint("a link or a folder on its way is being replaced; find out by what, then try again")
}

// askHuman asks, and waits for the answer unless the caller will not.
func (g *Gate) askHuman(ctx context.Context, c *callState) error {
	id := c.request.ID
	if err := submit(ctx, g, c); err != nil {
		return err
	}
	defer c.how.decided()
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
	if asked := c.caller.observer.Asked; asked != nil {
		asked(settled)
	}
	return nil
}

// submit puts the call before a human, once. The calls of an answer are put before one
// in the model's order.
func submit(ctx context.Context, g *Gate, c *callState) error {
	id := c.request.ID
	if c.how.submitted == id {
		return nil
	}
	if !c.how.noWait {
		g.Approvals.Reserve(id) // the one who waits runs it
	}
	c.how.decided = g.Permissions.Await(c.call.Principal.Session, id, g.permissionCall(ctx, c))
	if err := g.Approvals.Submit(ctx, *c.request); err != nil {
		c.how.decided()
		return err
	}
	c.how.submitted = id
	if asked := c.caller.observer.Asked; asked != nil {
		asked(*c.request)
	}
	g.Permissions.Settle(ctx) // they may have changed since they were looked at
	return nil
}

func (g *Gate) newRequest(c *callState) *approval.Request {
	now := time.Now()
	r := &approval.Request{
		ID: newID("a"), State: approval.Pending, Call: c.call,
		Workspace: c.caller.place.Workspace, AppFile: c.caller.place.AppFile,
		Risk: c.tool.Runtime.Risk, Reason: c.decision.Reason, Claims: c.claims,
		AskedAt: now, Deadline: now.Add(c.caller.rules.Policy.ApprovalTimeout()),
		Asker: c.caller.id.Requester, Script: c.how.script,
	}
	g.offerLasting(c, r)
	return r
}

// waitingError ends the path without ending its call.
type waitingError struct{ approval string }

func (w *waitingError) Error() string { return "waiting for approval " + w.approval }

func (w *waitingError) answer(c *callState) *tool.Result {
	// How a human answers is for humans to read: a model is told to wait.
	const text = "%s waits for a human: %s (a human must answer; then approvals.collect gives its result)"
	return &tool.Result{
		Status: tool.Waiting, Call: c.call.ID, Approval: w.approval, Warnings: c.warnings(),
		Summary: fmt.Sprintf(text, c.tool.ID.Dotted(), c.decision.Reason),
	}
}

// CheckEdit checks the arguments that a human edited before they count as an
// answer, and returns what the edited call claims.
func (g *Gate) CheckEdit(ctx context.Context, r approval.Request, args json.RawMessage) ([]tool.Claim, error) {
	// An app's own tools are in a scope that bears its file's name.
	at := Place{Workspace: r.Workspace, Scope: registry.Scope(r.AppFile, r.Workspace)}
	c := &callState{caller: &Caller{place: at}, call: r.Call}
	c.call.Name, c.call.Args = r.Call.Tool.String(), args
	err := judge(ctx, c, []step{g.resolve, g.checkArgs, bindEffects})
	return c.claims, err
}

func judge(ctx context.Context, c *callState, steps []step) (err error) {
	for i := 0; i < len(steps) && err == nil; i++ {
		err = steps[i](ctx, c)
	}
	return err
}

// Judge says what would become of a call as far as rules decide it, and makes none: hooks and humans are not
// asked. Without arguments it is about the tool alone, which is nil if nothing answers to the name.
func Judge(ctx context.Context, g *Gate, by *Caller, r CallRequest) (*tool.Tool, policy.Decision, error) {
	c := g.newCall(by, r)
	steps := []step{g.resolve, authorize}
	if r.Args != nil {
		steps = append(steps, g.checkArgs, bindEffects, authorizeCall, protectShapes, protectRules, applyReading, g.applyPermissions, g.applyLasting)
	}
	err := judge(ctx, c, steps)
	if err == nil && c.needsHuman() {
		c.decision.Verdict = policy.Approve
	}
	return c.tool, c.decision, err
}

// RecordAnswer puts an answer on record; the queue calls it before anybody goes
// on.
func (g *Gate) RecordAnswer(ctx context.Context, r approval.Request) {
	// The row is durable already. A record that cannot be written now is kept, and tried again.
	_, _ = g.Journal.Commit(ctx, g.records.answer(r))
}
