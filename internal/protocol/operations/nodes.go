package operations

import (
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/protocol"
	"callgate/tool"
)

const (
	// RouteNodes lists the nodes that share the kernel's database: the answer is a list of Node, empty for a kernel alone.
	RouteNodes = "GET /v1/nodes"
	// RouteDrain has a node begin nothing new, or go on: the body is a Drain, the answer the Node.
	RouteDrain = "POST /v1/drain"
	// RouteVerifyNodes verifies the journals of all nodes: the answer is a VerifiedNodes.
	RouteVerifyNodes = "GET /v1/nodes/verify"
	// RouteNodeLocks lists what calls at all nodes hold and wait for of what all nodes share: the answer is a list of
	// SharedClaim, those that wait first, 200 at most.
	RouteNodeLocks = "GET /v1/nodes/locks"
)

// Node is a kernel among those that share a database.
type Node struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	This    bool   `json:"this,omitempty"`    // it answers this request
	Leader  bool   `json:"leader,omitempty"`  // it moves the jobs of all nodes' tasks to their times
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

	Health  NodeHealth  `json:"health"`
	Backlog NodeBacklog `json:"backlog"`
}

// NodeHealth is how a node fares, as it said with its last heartbeat.
type NodeHealth struct {
	RoundTrip   time.Duration `json:"round_trip,omitempty"`  // of a heartbeat to the database, in nanoseconds
	ClockAhead  time.Duration `json:"clock_ahead,omitempty"` // of the database's clock, in nanoseconds; negative: behind
	Suspensions uint64        `json:"suspensions,omitempty"` // how often it stopped since it was opened: no database
	Signs       string        `json:"signs,omitempty"`       // names the key with which it signs what gives rights; "": it has none
}

// NodeBacklog is what waits at a node, whether it lives or not.
type NodeBacklog struct {
	Approvals     int           `json:"approvals"`            // that nobody has answered
	Tasks         int           `json:"tasks"`                // that have not ended
	Due           int           `json:"due"`                  // of those: that should run now, and do not
	OldestDue     time.Duration `json:"oldest_due,omitempty"` // how long the first of those has been due, in nanoseconds
	Locks         int           `json:"locks"`                // claims that it holds, of what all nodes share
	LockWaits     int           `json:"lock_waits"`           // claims that it waits for
	Conversations int           `json:"conversations"`        // of a node that does not live: they wait for it
}

// String says what waits for a node: 2 approvals, 1 conversation wait for it.
func (b NodeBacklog) String() string {
	var some []string
	for _, one := range []struct {
		n    int
		noun string
	}{{b.Approvals, "approval"}, {b.Tasks, "task"}, {b.Conversations, "conversation"}} {
		if one.n > 0 {
			some = append(some, amount.Of(one.n, one.noun))
		}
	}
	switch {
	case len(some) == 0:
		return "nothing waits for it"
	case b.Approvals+b.Tasks+b.Conversations == 1:
		return some[0] + " waits for it"
	}
	return strings.Join(some, ", ") + " wait for it"
}

// SharedClaim is what a call, at whichever node, holds or waits for of what all nodes share.
type SharedClaim struct {
	Node       string              `json:"node"` // its name
	Resource   string              `json:"resource"`
	Mode       tool.Mode           `json:"mode"`
	Holder     protocol.LockHolder `json:"holder"`
	Since      time.Time           `json:"since"` // it is held, or was asked for
	Waits      bool                `json:"waits,omitempty"`
	Behind     protocol.LockHolder `json:"behind,omitzero"`       // of one that waits: the last of those in its way
	BehindNode string              `json:"behind_node,omitempty"` // the name of that one's node
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
