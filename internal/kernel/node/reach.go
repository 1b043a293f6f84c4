package node

import (
	"cmp"
	"context"
	"os"
	"strconv"
	"time"

	"callgate/internal/journal/witness"
	"callgate/internal/kernel/shares"
	"callgate/internal/storage/postgres"
)

// Reach is where other nodes reach one, and how they know it there. Heartbeats tell it.
type Reach struct {
	Address     string `json:"address,omitempty"`     // "": nowhere
	Fingerprint string `json:"fingerprint,omitempty"` // of its certificate
	Proof       []byte `json:"proof,omitempty"`       // that a holder of the cluster's key says so: see reachParts
}

const reachUse = "node"

// reachParts are what the proof of a node's address and certificate covers.
func reachParts(id string, epoch int64, r Reach) [][]byte {
	return [][]byte{[]byte(id), []byte(strconv.FormatInt(epoch, 10)), []byte(r.Address), []byte(r.Fingerprint)}
}

// believed is where a node is reached, as far as it has proved that.
func (n *Node) believed(id string, epoch int64, r Reach) Reach {
	if n.Key == nil || !n.Key.Verify(r.Proof, reachUse, reachParts(id, epoch, r)...) {
		return Reach{}
	}
	return r
}

// told is what a heartbeat tells.
type told struct {
	Activity
	Reach
	Health
	Head   *witness.Head  `json:"head,omitempty"`   // of its journal
	Shared []shares.Share `json:"shared,omitempty"` // the folders that it shares with others
}

// Announce tells the other nodes where this one is reached, now and with each heartbeat.
func (n *Node) Announce(ctx context.Context, r Reach) error {
	if n.shared == nil {
		return alone("node.Announce")
	}
	n.shared.reach.Store(&r)
	return n.beat(ctx)
}

// IsShared reports whether the kernel shares its database with others.
func (n *Node) IsShared() bool { return n.shared != nil }

// Time is the time that all nodes count by: the database's.
func (n *Node) Time(ctx context.Context) (time.Time, error) {
	if n.shared == nil {
		return time.Now().UTC(), nil
	}
	return n.shared.db.Time(ctx)
}

// Name is what people call this node; "": it is alone.
func (n *Node) Name() string {
	if n.shared == nil {
		return ""
	}
	self, _ := n.shared.db.Node()
	return self.Name
}

// MachineName is what people call this node, or would if it were not alone.
func (n *Node) MachineName() string {
	host, _ := os.Hostname()
	return cmp.Or(n.Name(), os.Getenv(NameVariable), host)
}

// Living lists the nodes whose lease is not over.
func (n *Node) Living(ctx context.Context) (living []Member, err error) {
	members, err := n.Members(ctx)
	for _, m := range members {
		if m.State != postgres.Down && !m.Lost() {
			living = append(living, m)
		}
	}
	return living, err
}

// Thing is a kind of thing that one node has.
type Thing string

// The kinds of things.
const (
	Conversation Thing = "conversation"
	Approval     Thing = "approval"
	Task         Thing = "task"
	Question     Thing = "question"
	Proposal     Thing = "proposal"
	Call         Thing = "call"
)

// places are where each kind of thing is kept.
func places(what Thing) []postgres.Located {
	switch what {
	case Conversation:
		return []postgres.Located{postgres.LocatedConversation()}
	case Approval:
		return []postgres.Located{postgres.LocatedApproval()}
	case Task:
		return []postgres.Located{postgres.LocatedTask()}
	case Question:
		return []postgres.Located{
			postgres.LocatedDocument("questions.open"), postgres.LocatedDocument("questions.done"),
		}
	case Proposal:
		return []postgres.Located{postgres.LocatedDocument("proposals")}
	case Call:
		return []postgres.Located{postgres.LocatedCall()}
	}
	return nil
}

// Locate returns the ID of the node that has something; "": none has.
func (n *Node) Locate(ctx context.Context, what Thing, id string) (string, error) {
	if n.shared == nil {
		return "", nil
	}
	for _, place := range places(what) {
		if at, err := n.shared.db.Locate(ctx, place, id); err != nil || at != "" {
			return at, err
		}
	}
	return "", nil
}
