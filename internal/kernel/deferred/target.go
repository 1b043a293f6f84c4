package deferred

import (
	"context"
	"encoding/json"

	"callgate/internal/gate/argname"
	"callgate/internal/gate/policy"
	"callgate/internal/gate/schema"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// Target is a call that is to be made later, as it would be made now.
type Target struct {
	Tool  *tool.Tool
	Args  json.RawMessage // as they meet the tool's schema
	Asks  bool            // the rules of now have a human asked
	Notes []string        // how the arguments were read
}

// FindTarget finds the tool of a call that is to be made later, and checks its
// arguments, so that a mistake is told to who makes it. What the session does not have,
// or its rules refuse, is refused. The call is judged again when it is made, with its
// arguments.
func FindTarget(
	ctx context.Context, s *session.Session, schemas *schema.Cache, name string, args json.RawMessage,
) (Target, error) {
	const op = "deferred.FindTarget"
	found, err := s.View().Tool(ctx, name)
	if tool.KindOf(err) == tool.NotFound {
		if denied, ok := s.View().Denied(ctx, name); ok {
			return Target{}, tool.Errorf(op, tool.Denied, "%s is not allowed: %s", denied.ID.Dotted(), denied.Decision.Reason).
				WithHint("nobody can approve this here; use another tool, or have the user change callgate.yaml")
		}
	}
	if err != nil {
		return Target{}, err
	}
	if found.Runtime.Control {
		return Target{}, tool.Errorf(op, tool.Invalid, "%s is one of the kernel's own tools, which are called at once only",
			found.ID.Name).WithHint("name the tool that is to be called")
	}
	if err := s.Caller().Withheld(found.Tool); err != nil {
		return Target{}, err
	}
	in, err := schemas.Get(found.Spec.Input)
	if err != nil {
		return Target{}, &tool.Error{
			Op: op, Kind: tool.Internal, Err: err, Message: "the input schema of " + found.ID.Dotted() + " is broken",
		}
	}
	mode := schema.Lenient
	if found.Runtime.Risk.Level() >= tool.High.Level() {
		mode = schema.Strict
	}
	checked, err := argname.Check(ctx, in, found.Tool, args, mode)
	if err != nil {
		return Target{}, in.WithExample(err, found.Spec.Examples)
	}
	return Target{
		Tool: found.Tool, Args: checked.Args, Asks: found.Decision.Verdict == policy.Approve, Notes: checked.Coercions,
	}, nil
}
