// Package nodes reads what the page of nodes shows, and has one drained, through the kernel's client.
//
// Like every page it has the authority of the person who is logged in: the kernel says who may drain a node.
package nodes

import (
	"context"
	"time"

	"callgate/internal/client"
	"callgate/internal/protocol/operations"
)

// View is what the page shows.
type View struct {
	Nodes  []Node // those that live, or should
	Down   []Node // those that ended
	Claims []operations.SharedClaim
}

// Node is a node as the page shows it.
type Node struct {
	operations.Node
	Late  bool          // its heartbeat should have come again
	Clock time.Duration // how far it is from the database's, without a sign
	Ahead bool
}

// Short is the beginning of its ID, which people tell nodes apart by.
func (n Node) Short() string { return n.ID[:min(8, len(n.ID))] }

// Waits reports whether something waits for a node that does not live.
func (n Node) Waits() bool {
	b := n.Backlog
	return (n.State == "lost" || n.State == "down") && b.Approvals+b.Tasks+b.Conversations > 0
}

// MayDrain reports whether the page offers to have it begin nothing new.
func (n Node) MayDrain() bool { return n.State == "up" }

// MayGoOn reports whether the page offers to have it go on.
func (n Node) MayGoOn() bool { return n.State == "draining" }

// clockShown is from when on the page says how far a clock is off.
const clockShown = 500 * time.Millisecond

// Read asks the kernel.
func Read(ctx context.Context, k *client.Client) (v View, err error) {
	list, err := client.Nodes(ctx, k)
	if err != nil || len(list) == 0 {
		return v, err
	}
	for _, one := range list {
		n := Node{Node: one, Late: one.LeaseLeft > 0 && one.Lag > one.LeaseLeft, Ahead: one.Health.ClockAhead > 0}
		if off := one.Health.ClockAhead.Abs(); off >= clockShown {
			n.Clock = off
		}
		if one.State == "down" {
			v.Down = append(v.Down, n)
		} else {
			v.Nodes = append(v.Nodes, n)
		}
	}
	v.Claims, err = client.NodeLocks(ctx, k)
	return v, err
}

// Drain has a node begin nothing new, or go on.
func Drain(ctx context.Context, k *client.Client, id string, undo bool, by string) error {
	_, err := client.Drain(ctx, k, operations.Drain{Node: id, Undo: undo, By: by})
	return err
}
