package gate

import (
	"cmp"
	"context"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/lasting"
	"callgate/internal/gate/policy"
	"callgate/internal/registry"
	"callgate/tool"
)

// applyLasting lets a call run that a human said yes to for good. It is bound once
// more when it holds its locks: the yes is about what it touches.
func (g *Gate) applyLasting(ctx context.Context, c *callState) error {
	if c.request != nil || !g.mayLast(c) || g.Lasting.Empty() {
		return nil
	}
	call, err := g.lastingCall(ctx, c)
	if err != nil {
		return nil // a human is asked
	}
	if c.lasting = g.Lasting.Find(call); len(c.lasting) > 0 {
		rule, reason := lasting.Reason(c.lasting)
		c.decision = policy.Decision{Verdict: policy.Allow, Rule: rule, Reason: reason}
		c.byArguments = true
	}
	return nil
}

// checkLasting refuses a call whose lasting grants were revoked, or ended, while it
// waited for its locks.
func (g *Gate) checkLasting(_ context.Context, c *callState) error {
	if len(c.lasting) == 0 || g.Lasting.Counts(c.lasting) {
		return nil
	}
	return tool.Errorf("gate.checkLasting", tool.Conflict, "%s was not run: the %s it was to run by no longer counts",
		c.tool.ID.Dotted(), c.decision.Rule).WithHint("call it again, and a human is asked")
}

// mayLast reports whether a yes to the call may last: see internal/gate/lasting.
func (g *Gate) mayLast(c *callState) bool {
	return g.Lasting != nil && c.decision.Verdict == policy.Approve && len(c.ruleFiles) == 0 &&
		!c.tool.Runtime.AskFirst
}

// offerLasting adds to a request how its yes may last.
func (g *Gate) offerLasting(c *callState, r *approval.Request) {
	if !g.mayLast(c) {
		return
	}
	if call, err := g.lastingCall(context.Background(), c); err == nil {
		r.ToolApp, r.Choices = call.AppFile, lasting.Choices(call)
	}
}

// lastingCall is a call as lasting grants see it.
func (g *Gate) lastingCall(ctx context.Context, c *callState) (*lasting.Call, error) {
	snap, err := g.Tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if err := lasting.CheckNumbers(c.call.Args); err != nil {
		return nil, err
	}
	bound, err := c.matchCall()
	if err != nil {
		return nil, err
	}
	call := &lasting.Call{Call: bound}
	if t, ok := snap.View(registry.Global).Get(c.tool.ID); !ok || t != c.tool {
		call.AppFile = cmp.Or(c.caller.place.AppFile, c.caller.place.Scope, "unknown")
	}
	return call, nil
}
