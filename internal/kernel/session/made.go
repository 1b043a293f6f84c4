package session

import (
	"context"

	"callgate/internal/gate"
	"callgate/tool"
)

// Made returns what became of a call that was asked for under this ID before, by an
// earlier kernel or over a connection that broke: its result; status waiting, where a
// human was asked or it runs, and Collect returns its end; or an error of the kind
// InDoubt. It is nil for a call that has touched nothing, and may be made.
func (s *Session) Made(ctx context.Context, call string) (*tool.Result, error) {
	outcome, result, err := s.gate.Outcome(ctx, call)
	switch {
	case err != nil:
		return nil, err
	case outcome == gate.NotStarted:
		return nil, nil
	case outcome == gate.Ended:
		return result, nil
	case outcome == gate.InDoubt:
		e := DoubtError(call)
		return &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e, Call: call}, nil
	}
	return &tool.Result{Status: tool.Waiting, Call: call}, nil
}

// ChildID is the ID of the call that a control tool makes in another's place.
func ChildID(call string) string { return gate.ChildID(call) }

// DoubtError says of a call that it may or may not have happened.
func DoubtError(call string) *tool.Error {
	return tool.Errorf("session.Made", tool.InDoubt,
		"in doubt: the kernel ended during this call (%s), which may or may not have happened", call).
		WithHint("look at what it was to change before you repeat it; callgate log doubts tells what is known")
}
