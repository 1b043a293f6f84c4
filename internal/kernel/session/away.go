package session

import (
	"maps"
	"strings"

	"callgate/internal/gate/approval"
	"callgate/internal/peer"
)

// NameNode has the IDs of sessions name the node that has them, after a dot: a session is in no database, and is found
// by its ID from other nodes.
func (t *Table) NameNode(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.node = id
}

// newID makes the ID of a session that nobody gave one.
func (t *Table) newID() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.node == "" {
		return NewID("s")
	}
	return NewID("s") + "." + t.node
}

// NodeOf is the ID of the node that the ID of a session names; "": none.
func NodeOf(id string) string {
	_, node, _ := strings.Cut(id, ".")
	return node
}

// OpenedAway notes that a process of this machine opened a session at another kernel, through this one: here it counts
// as one who asks, as it would with a session of this kernel. Those whose process has ended are forgotten.
func (t *Table) OpenedAway(id string, by approval.Requester) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away == nil {
		t.away = map[string]approval.Requester{}
	}
	maps.DeleteFunc(t.away, func(_ string, r approval.Requester) bool { return HasEnded(r) })
	t.away[id] = by
}

// ClosedAway notes that a session at another kernel was closed.
func (t *Table) ClosedAway(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.away, id)
}

// HasEnded reports whether the process of a session is gone. A client that was killed
// leaves its session open, and must not bar the terminal that it ran in for good.
func HasEnded(r approval.Requester) bool {
	return r.Started != 0 && peer.Started(r.PID) != r.Started
}
