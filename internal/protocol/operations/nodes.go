package operations

import (
	"time"

	"callgate/internal/protocol"
)

const (
	// RouteNodes lists the nodes that share the kernel's database: the answer is a list of Node, empty for a kernel alone.
	RouteNodes = "GET /v1/nodes"
	// RouteDrain has a node begin nothing new, or go on: the body is a Drain, the answer the Node.
	RouteDrain = "POST /v1/drain"
	// RouteVerifyNodes verifies the journals of all nodes: the answer is a VerifiedNodes.
	RouteVerifyNodes = "GET /v1/nodes/verify"
)

// Node is a kernel among those that share a database.
type Node struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	This    bool   `json:"this,omitempty"`    // it answers this request
	State   string `json:"state"`             // up, draining, lost (it should live, and its lease is over) or down
	Version string `json:"version,omitempty"` // of its program
	Address string `json:"address,omitempty"` // where other nodes reach it

	Since     time.Time     `json:"since"`                // it was opened
	Heartbeat time.Time     `json:"heartbeat"`            // the last one, by the clock of the database
	Lag       time.Duration `json:"lag"`                  // how long ago that was, in nanoseconds
	LeaseLeft time.Duration `json:"lease_left,omitempty"` // in nanoseconds; 0: it is over

	Sessions      int `json:"sessions"`
	Conversations int `json:"conversations"` // that are open
	Calls         int `json:"calls"`         // that run
	Turns         int `json:"turns"`         // that run
	Tasks         int `json:"tasks"`         // that run
}

// Idle reports whether nothing runs at the node.
func (n Node) Idle() bool { return n.Calls+n.Turns+n.Tasks == 0 }

// Drain asks a node to begin nothing new.
type Drain struct {
	Node string `json:"node,omitempty"` // its name or ID; empty: the node that is asked
	Undo bool   `json:"undo,omitempty"` // it goes on
	By   string `json:"by,omitempty"`   // who asks, for the record
}

// VerifiedNodes is what verifying the journals of all nodes found: that of the node which is asked, against its anchor,
// and those of the others, against what it had seen of them.
type VerifiedNodes struct {
	protocol.VerifyReport
	Nodes []NodeReport `json:"nodes,omitempty"` // the others
}

// OK reports whether nothing was wrong with any.
func (v VerifiedNodes) OK() bool {
	for _, n := range v.Nodes {
		if !n.Report.OK() {
			return false
		}
	}
	return v.VerifyReport.OK()
}

// NodeReport is what verifying the journal of another node found.
type NodeReport struct {
	ID      string                `json:"id"`
	Name    string                `json:"name"`
	State   string                `json:"state"` // as that of a Node; absent: the database does not know it any more
	Report  protocol.VerifyReport `json:"report"`
	Seen    uint64                `json:"seen,omitempty"`    // the last record of it that the node which is asked has seen
	SeenAt  time.Time             `json:"seen_at,omitzero"`  // when that was
	Missing string                `json:"missing,omitempty"` // what was not compared with anything outside of the database
}
