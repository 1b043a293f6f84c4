package gate

import (
	"cmp"
	"context"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/binding"
	"callgate/internal/gate/lasting"
	"callgate/internal/gate/match"
	"callgate/internal/gate/permission"
	"callgate/internal/gate/policy"
	"callgate/internal/registry"
	"callgate/internal/user"
	"callgate/tool"
)

// applyLasting lets a call run that a human said yes to for good. It is bound once
// more when it holds its locks: the yes is about what it touches.
func (g *Gate) applyLasting(ctx context.Context, c *callState) error {
	if c.request != nil || g.Lasting == nil || !c.mayLast() || g.Lasting.Empty() || user.Of(c.call.Principal.User) != "" {
		return nil
	}
	call, err := g.lastingCall(ctx, c)
	if err != nil {
		return nil // a human is asked
	}
	if c.lasting = g.Lasting.Find(ctx, call); len(c.lasting) > 0 {
		rule, reason := lasting.Reason(c.lasting)
		c.decision = policy.Decision{Verdict: policy.Allow, Rule: rule, Reason: reason}
		c.byArguments = true
	}
	return nil
}

// applyPermissions has the permission mode of the session, and what is allowed there,
// decide: see internal/gate/permission. It runs after the rules and before lasting grants.
func (g *Gate) applyPermissions(ctx context.Context, c *callState) error {
	session := c.call.Principal.Session
	if c.request != nil || c.call.Principal.Daemon || !g.Permissions.Any(session) {
		return nil
	}
	switch d := g.Permissions.Decide(session, g.permissionCall(ctx, c)); d.Verdict {
	case permission.Refuse:
		return permission.PlanError(c.tool.ID.Dotted())
	case permission.Allow:
		c.decision = policy.Decision{Verdict: policy.Allow, Rule: d.Rule, Reason: d.Reason}
		c.byArguments = true
	}
	return nil
}

// permissionCall is a call as the permissions of its session see it.
func (g *Gate) permissionCall(ctx context.Context, c *callState) *permission.Call {
	p := &permission.Call{Tool: c.tool, Claims: c.claims, Deferred: c.how.background}
	if c.how.script != nil {
		p.Script = c.how.script.Call
	}
	p.MayAllow = c.mayLast() && !c.decision.IsDenyInDoubt()
	if call, err := g.lastingCall(ctx, c); err == nil {
		p.Match, p.Secret = call, c.takesSecret(call.Call)
	}
	p.Reads = c.onlyReads()
	view, caller := c.view, c.caller
	p.Denies = func(action, path string) bool {
		t, ok := view.Latest(p.Tool.ID.Namespace + "." + action)
		if !ok {
			return false
		}
		on := match.Of(t.ID, caller.place.Workspace, map[string]string{"path": path})
		on.Folders[path] = binding.IsFolder(path)
		d := caller.DecideCall(t, on)
		return d.Verdict == policy.Deny || d.IsDenyInDoubt()
	}
	return p
}

// checkLasting refuses a call whose lasting grants were revoked, or ended, while it
// waited for its locks.
func (g *Gate) checkLasting(ctx context.Context, c *callState) error {
	if len(c.lasting) == 0 || g.Lasting.Counts(ctx, c.lasting) {
		return nil
	}
	return tool.Errorf("gate.checkLasting", tool.Conflict, "%s was not run: the %s it was to run by no longer counts",
		c.tool.ID.Dotted(), c.decision.Rule).WithHint("call it again, and a human is asked")
}

// mayLast reports whether a yes to the call may last: see internal/gate/lasting.
func (c *callState) mayLast() bool {
	return c.decision.Verdict == policy.Approve && len(c.ruleFiles) == 0 && !c.tool.Runtime.AskFirst &&
		!c.asksByHook()
}

// offerLasting adds to a request how its yes may last: for good, and for the session.
func (g *Gate) offerLasting(c *callState, r *approval.Request) {
	if !c.mayLast() {
		return
	}
	call := g.permissionCall(context.Background(), c)
	if call.Match == nil {
		return
	}
	choices := lasting.Choices(call.Match)
	r.ToolApp, r.Session = call.Match.AppFile, permission.Offer(call, choices)
	if r.Script != nil {
		r.Script.Offer = permission.OfferScript(call, choices)
	}
	if g.Lasting != nil && user.Of(c.call.Principal.User) == "" { // grants are the kernel's own user's
		r.Choices = g.Lasting.AtEveryNode(call.Match, choices)
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
	call := &lasting.Call{Call: bound, App: c.call.Principal.App}
	if t, ok := snap.View(registry.Global).Get(c.tool.ID); !ok || t != c.tool {
		call.AppFile = cmp.Or(c.caller.place.AppFile, c.caller.place.Scope, "unknown")
	}
	return call, nil
}
