package node

import (
	"context"
	"encoding/json"
	"path/filepath"

	"callgate/internal/kernel/shares"
	"callgate/internal/storage/postgres/adoption"
	"callgate/internal/storage/postgres/workspaces"
	"callgate/tool"
)

// tells takes what a node's heartbeats tell.
func (m *Member) tells(t told) {
	m.Activity, m.Health, m.Shared = t.Activity, t.Health, t.Shared
	m.Address, m.Fingerprint = t.Address, t.Fingerprint
}

// Timing returns how long the node's lease lasts, and what goes with that.
func (n *Node) Timing() Timing { return n.timing }

// Left is what nodes have left that do not live any more; nil: this kernel is alone.
func (n *Node) Left() *adoption.Store {
	if n.shared == nil {
		return nil
	}
	return adoption.New(n.shared.db.DB)
}

// Gone lists the nodes that do not live.
func Gone(ctx context.Context, n *Node) ([]Member, error) {
	if n.shared == nil {
		return nil, nil
	}
	list, err := n.shared.db.Nodes().Ended(ctx)
	if err != nil {
		return nil, err
	}
	members := make([]Member, len(list))
	for i, one := range list {
		members[i] = Member{NodeStatus: one, This: one.ID == n.ID}
		var tell told
		_ = json.Unmarshal(one.Info, &tell) // of another version: it is not known
		members[i].tells(tell)
	}
	return members, nil
}

// Share has heartbeats tell which folders this node shares with others, from now on.
func (n *Node) Share(ctx context.Context, list []shares.Share) error {
	if n.shared == nil {
		return nil
	}
	n.shared.folders.Store(&list)
	return n.beat(ctx)
}

// FolderOwner returns which node works in a folder, if this one shares it with others; "": none does that lives.
func FolderOwner(ctx context.Context, n *Node, folder string) (id string, isShared bool, err error) {
	share, path, ok := n.Folders.Of(folder)
	if !ok {
		return "", false, nil
	}
	owner, err := workspaces.New(n.shared.db.DB).Owner(ctx, share.ID, path)
	if err != nil || owner.Lapsed {
		return "", true, err
	}
	return owner.Node, true, nil
}

// Workspaces claims workspaces for this node.
func (n *Node) Workspaces() shares.Claims { return workspaceClaims{n} }

type workspaceClaims struct{ node *Node }

// Claim takes the node over that has the workspace if its lease is over.
func (c workspaceClaims) Claim(ctx context.Context, share, path string) error {
	const op = "node.Claim"
	all := workspaces.New(c.node.shared.db.DB)
	for range 3 {
		owner, err := all.Claim(ctx, share, path)
		switch {
		case err != nil || owner.Node == c.node.ID:
			return err
		case !owner.Lapsed:
			return tool.Errorf(op, tool.Conflict, "the node %s works in %s of that shared folder", owner.Name,
				filepath.Join("/", owner.Path)).
				WithHint("ask that node, with --node %s; it gives the folder back when its last session there is closed "+
					"and no task of it waits there", owner.Name)
		}
		if _, err := c.node.Bury(ctx, owner.Node); err != nil && tool.KindOf(err) != tool.Conflict {
			return err
		}
	}
	return tool.Errorf(op, tool.Unavailable, "that folder goes from one node to another").WithHint("try again in a moment")
}

// Release gives a workspace back.
func (c workspaceClaims) Release(ctx context.Context, share, path string) error {
	return workspaces.New(c.node.shared.db.DB).Release(ctx, share, path)
}
