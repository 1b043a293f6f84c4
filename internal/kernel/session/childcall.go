package session

import (
	"context"
	"encoding/json"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

// CallFor makes a call of another tool for one that runs now: in its session, on behalf of the same
// caller, as its child. The gate judges it like any other, so that a module which uses another has
// no rights of its own. It waits for a human only if the caller of the first does. The result is whole.
func (t *Table) CallFor(ctx context.Context, call tool.Call, name string, args any) (*tool.Result, error) {
	const op = "session.CallFor"
	s, err := t.Bearing(call.Principal.Session)
	if err != nil {
		return nil, tool.Errorf(op, tool.Unavailable, "%s cannot be called: %w", name, err)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, tool.Errorf(op, tool.Internal, "the arguments for %s cannot be written: %w", name, err)
	}
	ctx, release, ended := s.Enter(ctx)
	if ended != nil {
		return nil, ended
	}
	defer release()
	caller := s.Caller()
	if call.Principal.Daemon {
		caller = caller.AsDaemon()
	}
	result := s.gate.Call(ctx, caller, CallRequest{
		Name: name, Args: raw, Parent: call.ID, Whole: true, NoWait: call.NoWait, Unattended: call.Unattended,
	})
	if result.Status == tool.Waiting {
		return nil, tool.Errorf(op, tool.Denied, "%s waits for a human's yes, and nothing waits for it here", name).
			WithHint("call %s itself first, and this again when it was allowed to stay", name)
	}
	return result, result.Err()
}

// Permits returns an error if a rule of the session's app that names a tool denies it, hides it or has a
// human asked, for a module that does what the tool does without calling it. What the app leaves to its
// default, or does not give the caller, is no such rule.
func (t *Table) Permits(ctx context.Context, call tool.Call, name string) error {
	const op = "session.Permits"
	s, err := t.Bearing(call.Principal.Session)
	if err != nil {
		return tool.Errorf(op, tool.Unavailable, "the rules for %s are not known: %w", name, err)
	}
	known, err := s.View().Registered(ctx, name)
	if err != nil || known == nil {
		return err
	}
	d := s.Caller().RuleOf(known, call.Principal)
	if d.Verdict == policy.Allow || d.IsDefault() {
		return nil
	}
	return tool.Errorf(op, tool.Denied, "the app file does not permit it: there is a rule against %s", name).
		WithHint("the rule is %s", d.Rule)
}
