package lock

import "math/bits"

// node is one resource of the tree that somebody holds or waits for.
type node struct {
	branch
	present int            // entries here, held and waiting
	holding holdSet        // which of held are not empty
	queued  holdSet        // which of waiting are not empty
	held    [numHolds]list // in the order of their grants
	waiting [numHolds]list // in ticket order

	// frontier is the first entry of waiting that is blocked here; nil when
	// none is.
	frontier [numHolds]*entry

	// ticket and slot say where the request that was last gathered has its
	// entry for this node.
	ticket uint64
	slot   int
}

// entry is one request at one node. It is in exactly one list of the node:
// waiting until the request is granted, held from then on.
type entry struct {
	node       *node
	place      *Ticket
	prev, next *entry
	hold       hold
	blocked    bool // only while the request is being placed
}

// list is a list of entries, linked through them.
type list struct{ head, tail *entry }

func (l *list) push(e *entry) {
	e.prev, e.next = l.tail, nil
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
}

func (l *list) remove(e *entry) {
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
}

// blocks reports whether e must wait at n.
func (n *node) blocks(e *entry) bool {
	against := conflicts[e.hold]
	if n.holding&against != 0 {
		return true
	}
	for rest := n.queued & against; rest != 0; rest &= rest - 1 {
		if n.waiting[bits.TrailingZeros8(uint8(rest))].head.place.seq < e.place.seq {
			return true
		}
	}
	return false
}

// addHolder makes e a holder of n.
func (n *node) addHolder(e *entry) {
	n.held[e.hold].push(e)
	n.holding |= e.hold.bit()
}

// addWaiter makes e, which has the latest ticket of all, a waiter at n.
func (n *node) addWaiter(e *entry) {
	n.waiting[e.hold].push(e)
	n.queued |= e.hold.bit()
	if e.blocked && n.frontier[e.hold] == nil {
		n.frontier[e.hold] = e
	}
}

// removeHolder ends e's holding of n.
func (n *node) removeHolder(e *entry) {
	n.held[e.hold].remove(e)
	if n.held[e.hold].head == nil {
		n.holding &^= e.hold.bit()
	}
}

// removeWaiter ends e's waiting at n.
func (n *node) removeWaiter(e *entry) {
	if n.frontier[e.hold] == e {
		n.frontier[e.hold] = e.next
	}
	n.waiting[e.hold].remove(e)
	if n.waiting[e.hold].head == nil {
		n.queued &^= e.hold.bit()
	}
}
