package lock

import (
	"context"
	"math/bits"
	"strings"
	"sync"
	"time"

	"callgate/tool"
)

const (
	// An idle table keeps up to maxSpare slices of up to maxSpareCap entries for
	// later requests.
	maxSpare    = 64
	maxSpareCap = 256
	// maxResource is the longest resource in bytes: every second byte may cost a node.
	maxResource = 32 << 10
)

// Table is a tree of locks. Its methods may be called from any goroutine.
// Make one with New.
type Table struct {
	mu      sync.Mutex
	lastSeq uint64 // the number of the last ticket
	tree    tree
	spare   [][]entry // empty slices of entries
}

// New returns an empty table.
func New() *Table { return new(Table) }

// Request asks for every claim, all or nothing. A request without claims is
// granted at once and holds nothing.
type Request struct {
	Claims []tool.Claim
	Holder Holder
	// Wait limits the time in the queue, from Enqueue on. Zero means no limit but
	// the context's; a negative value means that the request does not wait.
	Wait time.Duration
}

// Enqueue adds a request to the queue, and grants it at once if nothing blocks
// it. Conflicting requests are served in the order of their Enqueue calls, not
// of their Wait calls. Every ticket must be ended: by Wait and the release of
// its lease, or by Cancel.
func (t *Table) Enqueue(r Request) (*Ticket, error) {
	if err := validate(r.Claims); err != nil {
		return nil, err
	}
	tk := &Ticket{table: t, holder: r.Holder, wait: r.Wait, asked: time.Now()}
	tk.claims = append(tk.inlineClaims[:0], r.Claims...)
	tk.lease.ticket = tk
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastSeq++
	tk.seq = t.lastSeq
	t.addEntries(tk)
	for i := range tk.entries {
		e := &tk.entries[i]
		if e.node.blocks(e) {
			e.blocked = true
			tk.blocked++
		}
	}
	if tk.blocked == 0 {
		for i := range tk.entries {
			tk.entries[i].node.addHolder(&tk.entries[i])
		}
		tk.state, tk.since = granted, tk.asked
		return tk, nil
	}
	tk.ready = make(chan struct{})
	for i := range tk.entries {
		tk.entries[i].node.addWaiter(&tk.entries[i])
	}
	return tk, nil
}

// Acquire adds a request to the queue and waits until it is granted.
func (t *Table) Acquire(ctx context.Context, r Request) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, CancelledError(ctx)
	}
	if len(r.Claims) == 0 {
		return new(Lease), nil
	}
	tk, err := t.Enqueue(r)
	if err != nil {
		return nil, err
	}
	return tk.Wait(ctx)
}

func validate(claims []tool.Claim) error {
	const op = "lock.Enqueue"
	for _, c := range claims {
		switch {
		case !c.Mode.Valid():
			return tool.Errorf(op, tool.Invalid,
				"the claim on %.80q has lock mode %d, which is not one of IS, IX, S, U, X", c.Resource, uint8(c.Mode))
		case strings.IndexByte(c.Resource, ':') < 1:
			return tool.Errorf(op, tool.Invalid, "the resource %.80q has no kind", c.Resource).
				WithHint("write it as kind:rest, as in file:/home/u/a.txt or db:main")
		case len(c.Resource) > maxResource:
			return tool.Errorf(op, tool.Invalid,
				"the resource %.80q… is %d bytes long; the limit is %d bytes", c.Resource, len(c.Resource), maxResource)
		}
	}
	return nil
}

// addEntries adds an entry to tk for every node that its claims touch, parents
// before their children.
func (t *Table) addEntries(tk *Ticket) {
	if n := len(t.spare); n > 0 {
		tk.entries, t.spare = t.spare[n-1], t.spare[:n-1]
	}
	for _, c := range tk.claims {
		h := holdOf(c.Mode)
		above := h.intention()
		kind, rest, _ := strings.Cut(c.Resource, ":")
		tk.touch(&t.tree.root, above)
		n := t.tree.child(&t.tree.root, kind)
		for part, rest := cut(rest); part != ""; part, rest = cut(rest) {
			tk.touch(n, above)
			n = t.tree.child(n, part)
		}
		tk.touch(n, h)
	}
}

// touch joins h into tk's entry for n. It does not link the entry into a list,
// because the slice of entries may still move.
func (tk *Ticket) touch(n *node, h hold) {
	if n.seq != tk.seq {
		n.seq, n.slot = tk.seq, len(tk.entries)
		n.present++
		tk.entries = append(tk.entries, entry{node: n, ticket: tk, hold: h})
		return
	}
	e := &tk.entries[n.slot]
	e.hold = join(e.hold, h)
}

// advance moves the frontiers of n after an entry with hold h has left: past
// every entry that is clear now. It grants each request that is then blocked
// nowhere. A grant blocks and clears no other request (the third law), so one
// pass finds them all.
func (t *Table) advance(n *node, h hold) {
	for rest := n.queued & conflicts[h]; rest != 0; rest &= rest - 1 {
		at := &n.frontier[bits.TrailingZeros8(uint8(rest))]
		for e := *at; e != nil && !n.blocks(e); e = *at {
			*at = e.next
			e.ticket.blocked--
			if e.ticket.blocked == 0 {
				t.grant(e.ticket)
			}
		}
	}
}

// grant makes a waiting ticket a holder, and wakes its Wait.
func (t *Table) grant(tk *Ticket) {
	for i := range tk.entries {
		e := &tk.entries[i]
		e.node.removeWaiter(e)
		e.node.addHolder(e)
	}
	tk.state, tk.since = granted, time.Now()
	close(tk.ready)
}

// drop removes a ticket, holding or waiting, from the table, and grants the
// requests that only it blocked. It visits children before their parents.
func (t *Table) drop(tk *Ticket) {
	for i := len(tk.entries) - 1; i >= 0; i-- {
		e := &tk.entries[i]
		n := e.node
		if tk.state == waiting {
			n.removeWaiter(e)
		} else {
			n.removeHolder(e)
		}
		t.advance(n, e.hold)
		if n.present--; n.present == 0 {
			t.tree.prune(n)
		}
	}
	if c := cap(tk.entries); 0 < c && c <= maxSpareCap && len(t.spare) < maxSpare {
		clear(tk.entries)
		t.spare = append(t.spare, tk.entries[:0])
	}
	tk.entries = nil
	if tk.state == waiting {
		close(tk.ready)
	}
	tk.state = ended
}
