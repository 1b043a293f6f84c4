package lock

import "math/bits"

// node is a resource in the tree that a request holds or waits for.
type node struct {
	branch
	present int            // the number of entries here, held and waiting
	holding holdSet        // the holds whose list in held is not empty
	queued  holdSet        // the holds whose list in waiting is not empty
	held    [numHolds]list // in the order of their grants
	waiting [numHolds]list // in ticket order

	// frontier is the first entry of each waiting list that is blocked here, or
	// nil.
	frontier [numHolds]*entry

	// seq is the number of the last ticket that touched this node, and slot the
	// index of its entry for the node.
	seq  uint64
	slot int
}

// entry is one request at one node. It is in exactly one list of the node:
// waiting until the request is granted, held from then on.
type entry struct {
	node       *node
	ticket     *Ticket
	prev, next *entry
	hold       hold
	blocked    bool // used only inside Enqueue
}

// list is a doubly linked list of entries.
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
		if n.waiting[bits.TrailingZeros8(uint8(rest))].head.ticket.seq < e.ticket.seq {
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

// addWaiter makes e a waiter at n. Its ticket is the latest of all.
func (n *node) addWaiter(e *entry) {
	n.waiting[e.hold].push(e)
	n.queued |= e.hold.bit()
	if e.blocked && n.frontier[e.hold] == nil {
		n.frontier[e.hold] = e
	}
}

// removeHolder removes e from the holders of n.
func (n *node) removeHolder(e *entry) {
	n.held[e.hold].remove(e)
	if n.held[e.hold].head == nil {
		n.holding &^= e.hold.bit()
	}
}

// removeWaiter removes e from the waiters at n.
func (n *node) removeWaiter(e *entry) {
	if n.frontier[e.hold] == e {
		n.frontier[e.hold] = e.next
	}
	n.waiting[e.hold].remove(e)
	if n.waiting[e.hold].head == nil {
		n.queued &^= e.hold.bit()
	}
}
