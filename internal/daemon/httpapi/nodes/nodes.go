// Package nodes serves which nodes share the kernel's database, and has one drained.
//
// The law: everybody who may look at the kernel may look at the nodes; what a node begins is for who has a human's
// authority to say, and is on record.
package nodes

import (
	"cmp"
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/chains"
	"callgate/internal/kernel/node"
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
)

type nodeRoutes struct{ kernel *kernel.Kernel }

// Routes are the routes of nodes.
func Routes(k *kernel.Kernel) map[string]route.Func {
	a := &nodeRoutes{k}
	return map[string]route.Func{operations.RouteNodes: a.list, operations.RouteDrain: a.drain,
		operations.RouteVerifyNodes: a.verify, operations.RouteNodeLocks: a.locks}
}

// list lists the nodes.
func (a *nodeRoutes) list(w http.ResponseWriter, r *http.Request) error {
	n := kernel.NodeOf(a.kernel)
	members, err := n.Members(r.Context())
	if err != nil {
		return err
	}
	waiting, err := n.Backlogs(r.Context())
	if err != nil {
		return err
	}
	list := make([]operations.Node, len(members))
	for i, m := range members {
		list[i] = body(m, waiting[m.ID])
	}
	return route.Answer(w, list)
}

// maxClaims is the most claims of one answer.
const maxClaims = 200

// locks lists what all nodes share and calls hold or wait for.
func (a *nodeRoutes) locks(w http.ResponseWriter, r *http.Request) error {
	claims, err := kernel.NodeOf(a.kernel).SharedClaims(r.Context(), maxClaims)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(claims, func(c node.SharedClaim) operations.SharedClaim {
		return operations.SharedClaim{
			Node: c.Node, Resource: c.Resource, Mode: c.Mode, Holder: protocol.LockHolder(c.Holder), Since: c.Since,
			Waits: c.Waits, Behind: protocol.LockHolder(c.Behind), BehindNode: c.AtNode,
		}
	}))
}

// verify verifies the journals of all nodes.
func (a *nodeRoutes) verify(w http.ResponseWriter, r *http.Request) error {
	own, err := chains.Own(r.Context(), a.kernel.Journal)
	if err != nil {
		return err
	}
	n := kernel.NodeOf(a.kernel)
	others, err := chains.Others(r.Context(), n, n.Stores().Journal)
	if err != nil {
		return err
	}
	answer := operations.VerifiedNodes{VerifyReport: wire.VerifyReport(own)}
	for _, o := range others {
		answer.Nodes = append(answer.Nodes, operations.NodeReport{
			ID: o.Node, Name: o.Name, State: o.State, Report: wire.VerifyReport(o.Report),
			Seen: o.Seen, SeenAt: o.SeenAt, Missing: o.Missing,
		})
	}
	return route.Answer(w, answer)
}

// drain has a node begin nothing new, or go on.
func (a *nodeRoutes) drain(w http.ResponseWriter, r *http.Request) error {
	var in operations.Drain
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who := route.Credential(r, in.By)
	if err := a.kernel.Approvals.HasHumanAuthority(who); err != nil {
		return err
	}
	n := kernel.NodeOf(a.kernel)
	found, err := n.Find(r.Context(), in.Node)
	if err != nil {
		return err
	}
	if err := n.SetDraining(r.Context(), found.ID, !in.Undo); err != nil {
		return err
	}
	note := cmp.Or(who.By, "a human") + " has the node " + found.Name + " drained"
	if in.Undo {
		note = cmp.Or(who.By, "a human") + " has the node " + found.Name + " go on"
	}
	if err := a.kernel.Journal.Append(journal.Record{Kind: journal.Noted, Note: note}); err != nil {
		return err
	}
	if found, err = n.Find(r.Context(), found.ID); err != nil {
		return err
	}
	waiting, err := n.Backlogs(r.Context())
	if err != nil {
		return err
	}
	return route.Answer(w, body(found, waiting[found.ID]))
}

func body(m node.Member, b node.Backlog) operations.Node {
	return operations.Node{
		ID: m.ID, Name: m.Name, This: m.This, Leader: m.Leads, State: m.Condition(), Version: m.Version, Address: m.Address,
		Since: m.Started, Heartbeat: m.Heartbeat, Lag: m.Lag, LeaseLeft: max(m.Left, 0),
		Sessions: m.Sessions, Conversations: m.Conversations, Calls: m.Calls, Turns: m.Turns, Tasks: m.Tasks,
		Health: operations.NodeHealth(m.Health),
		Backlog: operations.NodeBacklog{
			Approvals: b.Approvals, Tasks: b.Tasks, Due: b.Due, OldestDue: b.OldestDue, Locks: b.Locks,
			LockWaits: b.LockWaits, Conversations: b.Conversations,
		},
	}
}
