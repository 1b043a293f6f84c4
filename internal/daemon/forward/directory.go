package forward

import (
	"context"

	"callgate/internal/kernel/node"
)

// Nodes is the directory of the nodes with which a kernel shares its database.
func Nodes(n *node.Node) Directory { return nodes{n} }

type nodes struct{ node *node.Node }

// Self is this node's ID and name.
func (d nodes) Self() (id, name string) { return d.node.ID, d.node.Name() }

// Living lists the nodes whose lease is not over, with this one.
func (d nodes) Living(ctx context.Context) ([]Node, error) {
	members, err := d.node.Living(ctx)
	if err != nil {
		return nil, err
	}
	living := make([]Node, len(members))
	for i, m := range members {
		living[i] = Node{ID: m.ID, Name: m.Name, Epoch: m.Epoch, Address: m.Address, Fingerprint: m.Fingerprint}
	}
	return living, nil
}

// Announce tells the others where this node is reached, and with which certificate.
func (d nodes) Announce(ctx context.Context, address, fingerprint string) error {
	return d.node.Announce(ctx, node.Reach{Address: address, Fingerprint: fingerprint})
}

// Locate returns the ID of the node that has something; "": none has.
func (d nodes) Locate(ctx context.Context, kind Kind, id string) (string, error) {
	return d.node.Locate(ctx, kind, id)
}

// FolderOwner returns the ID of the node that works in a folder, if this one shares it with others; "": none does.
func (d nodes) FolderOwner(ctx context.Context, folder string) (id string, isShared bool, err error) {
	return node.FolderOwner(ctx, d.node, folder)
}
