package gate

import (
	"context"
	"slices"

	"callgate/internal/gate/policy"
	"callgate/internal/gate/schema"
	"callgate/tool"
)

// resolve turns the name into one tool.
func (d *Gate) resolve(ctx context.Context, p *callState) error {
	snap, err := d.Tools.Snapshot(ctx)
	if err != nil {
		return err
	}
	p.view = snap.View(p.caller.Scope)
	t, err := p.view.Resolve(p.call.Name, p.visible)
	if err != nil {
		return err
	}
	p.tool, p.call.Tool = t, t.ID
	return nil
}

// visible tells whether this principal may know of a tool.
func (p *callState) visible(t *tool.Tool) bool { return p.caller.CanSee(t) }

// CanSee tells whether a tool exists for this session: what is denied or hidden
// does not.
func (s *Caller) CanSee(t *tool.Tool) bool {
	v := s.Decide(t).Verdict
	return v == policy.Allow || v == policy.Approve
}

// Decide judges a tool by this session's rules.
func (s *Caller) Decide(t *tool.Tool) policy.Decision {
	if s.DisabledModules[t.ID.Namespace] {
		return policy.Decision{Verdict: policy.Hide, Reason: "the app file leaves the module " + t.ID.Namespace + " out", Rule: "tools.modules"}
	}
	if actions, listed := s.AgentActions[t.ID.Namespace]; s.AgentActions != nil && !t.Runtime.Control && !s.Principal.Daemon &&
		(!listed || len(actions) > 0 && !slices.Contains(actions, t.ID.Name)) {
		return policy.Decision{Verdict: policy.Hide, Reason: "the app file does not give " + t.ID.Dotted() + " to this agent", Rule: "agents.modules"}
	}
	return policy.Decide(s.Rules, t, s.Principal)
}

// authorize asks policy about the resolved tool.
func (d *Gate) authorize(_ context.Context, p *callState) error {
	p.decision = p.caller.Decide(p.tool)
	switch p.decision.Verdict {
	case policy.Allow, policy.Approve:
		return nil
	case policy.Hide:
		return p.view.UnknownError(p.call.Name, p.visible)
	default:
		return tool.Errorf("arbiter.judge", tool.Denied, "%s is not allowed: %s", p.tool.ID.Dotted(), p.decision.Reason).
			WithHint("nobody can approve this here; use another tool, or have the user change callgate.yaml")
	}
}

// checkArgs coerces and validates the arguments. What leaves a mark that is hard
// to undo is taken more literally.
func (d *Gate) checkArgs(_ context.Context, p *callState) error {
	var err error
	if p.schema, err = d.schemas.Get(p.tool.Spec.Input); err != nil {
		return &tool.Error{Op: "arbiter.check", Kind: tool.Internal, Message: "the input schema of " + p.tool.ID.Dotted() + " is broken", Err: err}
	}
	mode := schema.Lenient
	if p.tool.Runtime.Risk.Level() >= tool.High.Level() {
		mode = schema.Strict
	}
	checked, err := p.schema.Check(p.call.Args, mode)
	if err != nil {
		return err
	}
	p.call.Args, p.coercions = checked.Args, checked.Coercions
	return nil
}

// rateLimit applies rate limits, after everything a caller could mend at once.
func (d *Gate) rateLimit(_ context.Context, p *callState) error {
	if p.request != nil {
		return nil // it was counted when it was asked
	}
	return d.limiter.Take(p.caller.Rules, p.tool, p.call.Principal)
}
