package lock

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"

	"callgate/tool"
)

// Holder says whose a request is, in words for those who wait behind it and
// for people.
type Holder struct {
	Call      string `json:"call"`
	Tool      string `json:"tool,omitempty"`
	Principal string `json:"principal,omitempty"`
}

// String writes the holder as an error names it: call c1 (fs.write, for agent a).
func (h Holder) String() string {
	var about []string
	if h.Tool != "" {
		about = append(about, h.Tool)
	}
	if h.Principal != "" {
		about = append(about, "for "+h.Principal)
	}
	call := "call " + cmp.Or(h.Call, "unnamed")
	if about == nil {
		return call
	}
	return call + " (" + strings.Join(about, ", ") + ")"
}

// Held is one claim that is held.
type Held struct {
	Resource string    `json:"resource"`
	Mode     tool.Mode `json:"mode"`
	Holder   Holder    `json:"holder"`
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until,omitzero"`    // when the lease runs out, if it does
	Expired  bool      `json:"expired,omitempty"` // it has run out; its handler is being stopped
}

// Waiting is one claim that waits. The claims of one request are granted
// together, so all of them wait behind the same obstacle.
type Waiting struct {
	Resource string    `json:"resource"`
	Mode     tool.Mode `json:"mode"`
	Holder   Holder    `json:"holder"`
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until,omitzero"` // when the wait runs out, if it does
	Position int       `json:"position"`       // among those who wait for this very resource, from 1
	Behind   Blocker   `json:"behind"`
}

// Blocker is a claim in somebody's way: held, or queued ahead.
type Blocker struct {
	Resource string    `json:"resource"`
	Mode     tool.Mode `json:"mode"`
	Holder   Holder    `json:"holder"`
	Since    time.Time `json:"since"`
	Queued   bool      `json:"queued,omitempty"` // it waits too, with an earlier ticket
	Expired  bool      `json:"expired,omitempty"`
}

// Snapshot is the whole table at one moment, in the order in which the
// requests were made.
type Snapshot struct {
	Held    []Held    `json:"held"`
	Waiting []Waiting `json:"waiting"`
}

// Snapshot lists who holds what, and who waits for it behind whom.
func (t *Table) Snapshot() Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	view := Snapshot{Held: []Held{}, Waiting: []Waiting{}}
	lines := make(map[string]queueCount)
	for _, p := range t.tickets() {
		if p.state != waiting {
			for _, c := range p.claims {
				view.Held = append(view.Held, Held{c.Resource, c.Mode, p.holder, p.since, p.expires, p.expired(now)})
			}
			continue
		}
		_, behind := p.blocker()
		for _, c := range p.claims {
			at := lines[c.Resource].join(p.seq)
			lines[c.Resource] = at
			w := Waiting{c.Resource, c.Mode, p.holder, p.asked, time.Time{}, at.length, behind}
			if p.wait != 0 {
				w.Until = p.asked.Add(p.wait)
			}
			view.Waiting = append(view.Waiting, w)
		}
	}
	return view
}

// queueCount counts the requests in the queue of one resource, each once.
type queueCount struct {
	last   uint64
	length int
}

func (l queueCount) join(ticket uint64) queueCount {
	if l.last == ticket {
		return l
	}
	return queueCount{ticket, l.length + 1}
}

// tickets finds all who hold or wait, in ticket order: at the root.
func (t *Table) tickets() []*Ticket {
	var found []*Ticket
	root := &t.tree.root
	for _, lists := range [...]*[numHolds]list{&root.held, &root.waiting} {
		for _, l := range lists {
			for e := l.head; e != nil; e = e.next {
				found = append(found, e.place)
			}
		}
	}
	slices.SortFunc(found, func(a, b *Ticket) int { return cmp.Compare(a.seq, b.seq) })
	return found
}

func (p *Ticket) expired(now time.Time) bool {
	return p.state != waiting && !p.expires.IsZero() && !now.Before(p.expires)
}

// blocker finds one that blocks the waiting p, and the claim of p that it
// blocks: a holder if there is any, and else the earliest of those ahead.
func (p *Ticket) blocker() (tool.Claim, Blocker) {
	var mine, other *entry
	for i := range p.entries {
		e := &p.entries[i]
		against := conflicts[e.hold]
		if rest := e.node.holding & against; rest != 0 {
			mine, other = e, e.node.held[bits.TrailingZeros8(uint8(rest))].head
			break
		}
		for rest := e.node.queued & against; rest != 0; rest &= rest - 1 {
			ahead := e.node.waiting[bits.TrailingZeros8(uint8(rest))].head
			if ahead.place.seq < p.seq && (other == nil || ahead.place.seq < other.place.seq) {
				mine, other = e, ahead
			}
		}
	}
	by := other.place
	c := by.conflictingClaim(mine.node, mine.hold)
	found := Blocker{c.Resource, c.Mode, by.holder, by.since, by.state == waiting, by.expired(time.Now())}
	if found.Queued {
		found.Since = by.asked
	}
	return p.conflictingClaim(mine.node, holdAt(mine.node.path(), c)), found
}

// conflictingClaim finds the claim of p that conflicts with hold h at n. There is
// one if p's entry conflicts, since a join conflicts with h only where one of
// the joined does.
func (p *Ticket) conflictingClaim(n *node, h hold) tool.Claim {
	way := n.path()
	for _, c := range p.claims {
		if at := holdAt(way, c); at < numHolds && conflicts[at]&h.bit() != 0 {
			return c
		}
	}
	return tool.Claim{}
}

// holdAt is the hold that a claim takes on the node at the end of a way, and
// holds when it does not touch it.
func holdAt(way []string, c tool.Claim) hold {
	part, rest, _ := strings.Cut(c.Resource, ":")
	for _, want := range way {
		if part != want {
			return numHolds
		}
		part, rest = cut(rest)
	}
	if part == "" {
		return holdOf(c.Mode)
	}
	return holdOf(c.Mode).intention()
}

// busy is the error of one whose wait ran out behind an obstacle.
func busy(wanted tool.Claim, asked time.Time, by Blocker) error {
	what := "has held"
	switch {
	case by.Queued:
		what = "is ahead in the queue, waiting for"
	case by.Expired:
		what = "is being stopped, its time being up, and still holds"
	}
	return tool.Errorf("lock.Wait", tool.Busy, "%.200q stayed locked for %v: %s wanted, but %s %s %s on %.200q since %s (%v)",
		wanted.Resource, elapsed(asked), wanted.Mode, by.Holder, what, by.Mode, by.Resource, by.Since.UTC().Format(time.RFC3339), elapsed(by.Since)).
		WithHint("try again when that call has ended, or claim less; `callgate locks` shows who holds what")
}

func elapsed(since time.Time) time.Duration { return time.Since(since).Round(time.Millisecond) }
