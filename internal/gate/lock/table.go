package lock

import (
	"context"
	"math/bits"
	"strings"
	"sync"
	"time"

	"callgate/tool"
)

// What an idle table keeps for its next requests, and the longest resource it
// takes: every second byte of one may cost a node.
const (
	spareGathers = 64
	maxEntries   = 256 // entries
	resourceMost = 32 << 10
)

// Table is a tree of locks. Its methods may be called from any goroutine.
// Make one with New.
type Table struct {
	mu      sync.Mutex
	ticket  uint64 // the last one given
	tree    tree
	gathers [][]entry // empty slices of entries
}

// New makes an empty table.
func New() *Table { return new(Table) }

// Request asks for every claim, all or nothing. No claims is a request that is
// granted at once and holds nothing.
type Request struct {
	Claims []tool.Claim
	Holder Holder
	// Wait is how long the request may stand in the queue, from Enqueue on.
	// Zero is no limit but the context's; less than zero is no waiting at all.
	Wait time.Duration
}

// Enqueue takes a place in the queue now, and is granted now if nothing stands
// against it. Places taken one after another are served in that order wherever
// they conflict, whoever waits first. Every place must be ended: by Wait and
// the release of its lease, or by Leave.
func (t *Table) Enqueue(r Request) (*Ticket, error) {
	if err := validate(r.Claims); err != nil {
		return nil, err
	}
	p := &Ticket{table: t, holder: r.Holder, wait: r.Wait, asked: time.Now()}
	p.claims = append(p.inlineClaims[:0], r.Claims...)
	p.lease.ticket = p
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ticket++
	p.seq = t.ticket
	t.addEntries(p)
	for i := range p.entries {
		e := &p.entries[i]
		if e.node.blocks(e) {
			e.blocked = true
			p.blocked++
		}
	}
	if p.blocked == 0 {
		for i := range p.entries {
			p.entries[i].node.addHolder(&p.entries[i])
		}
		p.state, p.since = granted, p.asked
		return p, nil
	}
	p.ready = make(chan struct{})
	for i := range p.entries {
		p.entries[i].node.addWaiter(&p.entries[i])
	}
	return p, nil
}

// Acquire takes a place and waits for its turn.
func (t *Table) Acquire(ctx context.Context, r Request) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, cancelledError(ctx)
	}
	if len(r.Claims) == 0 {
		return new(Lease), nil
	}
	p, err := t.Enqueue(r)
	if err != nil {
		return nil, err
	}
	return p.Wait(ctx)
}

func validate(claims []tool.Claim) error {
	const op = "lock.Enqueue"
	for _, c := range claims {
		switch {
		case !c.Mode.Valid():
			return tool.Errorf(op, tool.Invalid, "the claim on %.80q has lock mode %d, which is not one of IS, IX, S, U, X", c.Resource, uint8(c.Mode))
		case strings.IndexByte(c.Resource, ':') < 1:
			return tool.Errorf(op, tool.Invalid, "the resource %.80q has no kind", c.Resource).WithHint("write it as kind:rest, as in file:/home/u/a.txt or db:main")
		case len(c.Resource) > resourceMost:
			return tool.Errorf(op, tool.Invalid, "the resource %.80q… is %d bytes long; the longest that can be locked is %d", c.Resource, len(c.Resource), resourceMost)
		}
	}
	return nil
}

// addEntries gives p an entry for every node that its claims touch, parents before
// their children.
func (t *Table) addEntries(p *Ticket) {
	if n := len(t.gathers); n > 0 {
		p.entries, t.gathers = t.gathers[n-1], t.gathers[:n-1]
	}
	for _, c := range p.claims {
		h := holdOf(c.Mode)
		above := h.intention()
		kind, rest, _ := strings.Cut(c.Resource, ":")
		p.touch(&t.tree.root, above)
		n := t.tree.child(&t.tree.root, kind)
		for part, rest := cut(rest); part != ""; part, rest = cut(rest) {
			p.touch(n, above)
			n = t.tree.child(n, part)
		}
		p.touch(n, h)
	}
}

// touch joins h into p's entry for n. It links nothing: the entries may move
// until all are gathered.
func (p *Ticket) touch(n *node, h hold) {
	if n.ticket != p.seq {
		n.ticket, n.slot = p.seq, len(p.entries)
		n.present++
		p.entries = append(p.entries, entry{node: n, place: p, hold: h})
		return
	}
	e := &p.entries[n.slot]
	e.hold = join(e.hold, h)
}

// advance moves the frontiers of n, after one that was there in hold h is gone,
// past everyone who is clear now, and grants each request that this leaves
// blocked nowhere. A grant changes nobody else's blockedness (the third law),
// so one pass finds them all.
func (t *Table) advance(n *node, h hold) {
	for rest := n.queued & conflicts[h]; rest != 0; rest &= rest - 1 {
		at := &n.frontier[bits.TrailingZeros8(uint8(rest))]
		for e := *at; e != nil && !n.blocks(e); e = *at {
			*at = e.next
			e.place.blocked--
			if e.place.blocked == 0 {
				t.grant(e.place)
			}
		}
	}
}

// grant makes a waiting place a holder, and wakes whoever waits for it.
func (t *Table) grant(p *Ticket) {
	for i := range p.entries {
		e := &p.entries[i]
		e.node.removeWaiter(e)
		e.node.addHolder(e)
	}
	p.state, p.since = granted, time.Now()
	close(p.ready)
}

// drop takes a place, holding or waiting, out of the table, and grants whoever
// it was the last to block. Children go before their parents.
func (t *Table) drop(p *Ticket) {
	for i := len(p.entries) - 1; i >= 0; i-- {
		e := &p.entries[i]
		n := e.node
		if p.state == waiting {
			n.removeWaiter(e)
		} else {
			n.removeHolder(e)
		}
		t.advance(n, e.hold)
		if n.present--; n.present == 0 {
			t.tree.prune(n)
		}
	}
	if c := cap(p.entries); 0 < c && c <= maxEntries && len(t.gathers) < spareGathers {
		clear(p.entries)
		t.gathers = append(t.gathers, p.entries[:0])
	}
	p.entries = nil
	if p.state == waiting {
		close(p.ready)
	}
	p.state = gone
}
