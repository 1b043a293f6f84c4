package gate

import (
	"context"

	"callgate/internal/gate/argname"
	"callgate/internal/gate/binding"
	"callgate/internal/gate/policy"
	"callgate/internal/gate/schema"
	"callgate/tool"
)

// resolve turns the name into one tool.
func (g *Gate) resolve(ctx context.Context, c *callState) error {
	snap, err := g.Tools.Snapshot(ctx)
	if err != nil {
		return err
	}
	c.view = snap.View(c.caller.place.Scope)
	t, args, err := argname.Resolve(ctx, c.view, c.caller.Sees, g.Schemas.Get, c.call.Name, c.call.Args)
	if tool.KindOf(err) == tool.NotFound {
		if denied, ok := c.view.Denied(c.call.Name, c.caller.denies); ok {
			t, err = denied, nil // authorize refuses it, with the reason
		}
	}
	if err != nil {
		return err
	}
	c.tool, c.call.Tool, c.call.Args = t, t.ID, args
	return nil
}

// authorize asks policy about the resolved tool. A human is not asked about one that could not run anyway.
func authorize(_ context.Context, c *callState) error {
	c.decision = c.caller.Decide(c.tool)
	switch c.decision.Verdict {
	case policy.Allow, policy.Approve:
		return c.caller.Withheld(c.tool)
	case policy.Hide:
		return c.view.UnknownError(c.call.Name, c.caller.Sees)
	default:
		return tool.Errorf("gate.authorize", tool.Denied, "%s is not allowed: %s", c.tool.ID.Dotted(), c.decision.Reason).
			WithHint("nobody can approve this here; use another tool, or have the user change callgate.yaml")
	}
}

// checkArgs coerces, validates and expands the arguments. High-risk tools are coerced in strict mode.
func (g *Gate) checkArgs(ctx context.Context, c *callState) error {
	var err error
	if c.schema, err = g.Schemas.Get(c.tool.Spec.Input); err != nil {
		return &tool.Error{
			Op: "gate.checkArgs", Kind: tool.Internal, Err: err,
			Message: "the input schema of " + c.tool.ID.Dotted() + " is broken",
		}
	}
	mode := schema.Lenient
	if c.tool.Runtime.Risk.Level() >= tool.High.Level() {
		mode = schema.Strict
	}
	checked, err := argname.Check(ctx, c.schema, c.tool, c.call.Args, mode)
	if err != nil {
		return c.schema.WithExample(err, c.tool.Spec.Examples)
	}
	c.call.Args, c.coercions = argname.Expand(c.tool, c.call, checked, c.request != nil)
	return nil
}

// rateLimit counts the call, after everything that its caller could mend at once.
func (g *Gate) rateLimit(ctx context.Context, c *callState) error {
	if c.request != nil {
		return nil // it was counted when the human was asked
	}
	if err := c.caller.TakeRate(c.tool, g.Rates.Take); err != nil || g.Count == nil {
		return err
	}
	return g.Count(ctx, c.tool, c.call.Principal)
}

// bindEffects turns the tool's effects into claims on canonical resources, and finds out whether they change rules.
func bindEffects(_ context.Context, c *callState) error {
	claims, err := binding.OfCall(c.caller.place.Workspace, c.tool, c.call.Args)
	if err != nil {
		return &unboundError{err}
	}
	c.claims = claims
	c.ruleFiles = c.caller.ruleFiles().Changed(claims)
	return nil
}

// unboundError ends a call whose paths lead nowhere.
type unboundError struct{ error }

func (u *unboundError) Unwrap() error { return u.error }
