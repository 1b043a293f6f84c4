package node

import (
	"context"
	"crypto/sha256"

	"callgate/internal/storage/postgres/callnames"
)

// ClaimCall returns which node has a call that a client named, and under which ID: this one, under the ID that is
// given, if none had it.
func (n *Node) ClaimCall(ctx context.Context, name [sha256.Size]byte, call string) (owner, id string, err error) {
	if n.shared == nil {
		return n.ID, call, nil
	}
	o, err := callnames.New(n.shared.db.DB).Claim(ctx, name, call)
	return o.Node, o.Call, err
}

// MoveCall gives this node a named call of a node that is down since an epoch, and reports whether it did.
func (n *Node) MoveCall(ctx context.Context, name [sha256.Size]byte, from string, epoch int64) (bool, error) {
	if n.shared == nil {
		return false, alone("node.MoveCall")
	}
	return callnames.New(n.shared.db.DB).Move(ctx, name, from, epoch)
}

// Bury sees to it that a node begins nothing any more, and returns the epoch since which that is so. One whose lease is
// not over is a Conflict.
func (n *Node) Bury(ctx context.Context, id string) (epoch int64, err error) {
	if n.shared == nil {
		return 0, alone("node.Bury")
	}
	taken, err := n.shared.db.Nodes().TakeOver(ctx, id)
	return taken.Epoch, err
}
