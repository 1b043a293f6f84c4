package kernel

import (
	"context"

	"callgate/internal/gate/approval"
	"callgate/internal/source/mcp"
	"callgate/tool"
)

// AnswerElicited settles an approval with what the human at an MCP client said
// in a form that the client showed them. The client is not who answers, but the
// way by which its human is reached, and the kernel vouches for that way: a
// client brings answers only to what its own session asked, and neither a tool
// nor a process that the kernel started can come here (they are shown no form).
// A program of the user's own outside every sandbox can play such a client, as
// it can read the human's key: docs/MCP.md says so. What
// the desk says of answers holds for these too: the first one counts, and
// edited arguments must be able to run.
func (s *Session) AnswerElicited(ctx context.Context, id, client string, a approval.Answer) error {
	const op = "callgate.AnswerElicited"
	r, err := s.kernel.Approvals.Get(ctx, id)
	if err != nil {
		return err
	}
	if r.Call.Principal.Session != s.ID {
		return tool.Errorf(op, tool.Denied, "approval %s was not asked for by this session", tool.Truncate(id)).
			WithHint("answer it where it was asked, or with: callgate approvals approve %s", tool.Truncate(id))
	}
	a.Always = false // a form shows one call
	return s.kernel.Approvals.Answer(ctx, approval.Credential{
		Key: s.kernel.humanKey, By: "the human at " + client, PID: approval.Unknown,
	}, id, a)
}

// Elicit finds the MCP client on whose behalf a server works, which carries what
// the server asks to its human and its model. It is nil where there is none.
type Elicit func(ctx context.Context, calls []string) mcp.Client

// OnElicit says who knows the clients. Without anybody, what servers ask is
// declined.
func (k *Kernel) OnElicit(f Elicit) { k.asks.Store(&f) }

func (k *Kernel) elicit(ctx context.Context, calls []string) mcp.Client {
	if f := k.asks.Load(); f != nil {
		return (*f)(ctx, calls)
	}
	return nil
}
