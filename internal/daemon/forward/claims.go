package forward

import (
	"context"
	"crypto/sha256"

	"callgate/internal/artifact"
	"callgate/internal/gate/outcome"
	"callgate/internal/kernel/node"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// ClaimedNames are the names of calls in the database that a kernel shares with others.
func ClaimedNames(n *node.Node, results *artifact.Store) Names { return claims{n, results} }

type claims struct {
	node    *node.Node
	results *artifact.Store
}

func (c claims) Claim(ctx context.Context, name [sha256.Size]byte, call string) (node, id string, err error) {
	return c.node.ClaimCall(ctx, name, call)
}

func (c claims) Move(ctx context.Context, name [sha256.Size]byte, from string) (bool, error) {
	return c.node.MoveCall(ctx, name, from)
}

// Outcome reads the journal of a dead node after it was made sure that nothing is added to it.
func (c claims) Outcome(ctx context.Context, dead, call string) (*tool.Result, error) {
	if err := c.node.Bury(ctx, dead); err != nil {
		if tool.KindOf(err) != tool.Conflict {
			return nil, err
		}
		return nil, &tool.Error{
			Op: "forward.Outcome", Kind: tool.Unavailable, Err: err, Message: "the node that has this call does not answer",
			Hint: "send it again under the same name in a moment, and it is not made twice",
		}
	}
	state, result, err := outcome.Elsewhere(ctx, c.node.JournalOf(dead), c.results, call)
	switch {
	case err != nil:
		return nil, err
	case state == outcome.Ended:
		return result, nil
	case state == outcome.InDoubt:
		e := session.DoubtError(call)
		return &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e, Call: call}, nil
	case state == outcome.Pending:
		return nil, tool.Errorf("forward.Outcome", tool.Unavailable,
			"call %s waits for a human at a node that does not live", call).
			WithHint("start that node again; callgate nodes tells which it is")
	}
	return nil, nil
}
