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

func (c claims) Move(ctx context.Context, name [sha256.Size]byte, from string, epoch int64) (bool, error) {
	return c.node.MoveCall(ctx, name, from, epoch)
}

// Outcome reads the journal of a dead node after it was made sure that nothing is added to it.
func (c claims) Outcome(ctx context.Context, dead, call string) (*tool.Result, int64, error) {
	epoch, err := c.node.Bury(ctx, dead)
	if err != nil {
		if tool.KindOf(err) != tool.Conflict {
			return nil, 0, err
		}
		return nil, 0, &tool.Error{
			Op: "forward.Outcome", Kind: tool.Unavailable, Err: err, Message: "the node that has this call does not answer",
			Hint: "send it again under the same name in a moment, and it is not made twice",
		}
	}
	state, result, err := outcome.Elsewhere(ctx, c.node.JournalOf(dead), c.results, call)
	switch {
	case err != nil:
		return nil, 0, err
	case state == outcome.Ended:
		return result, epoch, nil
	case state == outcome.InDoubt:
		e := session.DoubtError(call)
		return &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e, Call: call}, epoch, nil
	case state == outcome.Pending:
		return nil, 0, tool.Errorf("forward.Outcome", tool.Unavailable,
			"call %s waits for a human at a node that does not live", call).
			WithHint("start that node again; callgate nodes tells which it is")
	}
	return nil, epoch, nil
}
