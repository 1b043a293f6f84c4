package lock

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"

	"callgate/tool"
)

// Holder identifies the call that made a request, for error texts and listings.
type Holder struct {
	Call      string `json:"call"`
	Tool      string `json:"tool,omitempty"`
	Principal string `json:"principal,omitempty"`
}

// String returns the form used in errors: call c1 (fs.write, for agent a).
func (h Holder) String() string {
	var details []string
	if h.Tool != "" {
		details = append(details, h.Tool)
	}
	if h.Principal != "" {
		details = append(details, "for "+h.Principal)
	}
	call := "call " + cmp.Or(h.Call, "unnamed")
	if details == nil {
		return call
	}
	return call + " (" + strings.Join(details, ", ") + ")"
}

// Held is a claim that a call holds.
type Held struct {
	Resource string    `json:"resource"`
	Mode     tool.Mode `json:"mode"`
	Holder   Holder    `json:"holder"`
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until,omitzero"`    // when the lease expires; zero for never
	Expired  bool      `json:"expired,omitempty"` // the lease has expired and its handler is being stopped
}

// Waiting is a claim that waits. The claims of one request are granted together,
// so all of them wait behind the same blocker.
type Waiting struct {
	Resource string    `json:"resource"`
	Mode     tool.Mode `json:"mode"`
	Holder   Holder    `json:"holder"`
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until,omitzero"` // when the wait times out; zero for never
	Position int       `json:"position"`       // in the queue of this resource, from 1
	Behind   Blocker   `json:"behind"`
}

// Blocker is a claim that blocks a request: held, or earlier in the queue.
type Blocker struct {
	Resource string    `json:"resource"`
	Mode     tool.Mode `json:"mode"`
	Holder   Holder    `json:"holder"`
	Since    time.Time `json:"since"`
	Queued   bool      `json:"queued,omitempty"` // it waits too, with an earlier ticket number
	Expired  bool      `json:"expired,omitempty"`
	// Node is the name of the kernel that it is a call of, if that is another one.
	Node string `json:"node,omitempty"`
}

// Who names the call for people: call c1 (fs.write, for agent a), and at which node it is.
func (b Blocker) Who() string {
	if b.Node == "" {
		return b.Holder.String()
	}
	return b.Holder.String() + " at node " + b.Node
}

// Snapshot is the whole table at one moment, in the order in which the
// requests were made.
type Snapshot struct {
	Held    []Held    `json:"held"`
	Waiting []Waiting `json:"waiting"`
}

// Snapshot lists the held claims, and the waiting claims with their blockers.
func (t *Table) Snapshot() Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	view := Snapshot{Held: []Held{}, Waiting: []Waiting{}}
	queues := make(map[string]queueCount)
	for _, tk := range t.tickets() {
		if tk.state != waiting {
			for _, c := range tk.claims {
				held := Held{c.Resource, c.Mode, tk.holder, tk.since, tk.expires, tk.expired(now)}
				view.Held = append(view.Held, held)
			}
			continue
		}
		_, behind := tk.blocker()
		for _, c := range tk.claims {
			queue := queues[c.Resource].join(tk.seq)
			queues[c.Resource] = queue
			w := Waiting{c.Resource, c.Mode, tk.holder, tk.asked, time.Time{}, queue.length, behind}
			if tk.wait != 0 {
				w.Until = tk.asked.Add(tk.wait)
			}
			view.Waiting = append(view.Waiting, w)
		}
	}
	return view
}

// queueCount counts the requests in the queue of one resource, each once.
type queueCount struct {
	last   uint64 // the number of the last ticket counted
	length int
}

func (q queueCount) join(seq uint64) queueCount {
	if q.last == seq {
		return q
	}
	return queueCount{seq, q.length + 1}
}

// tickets returns all tickets that hold or wait, in ticket order. Every request
// is present at the root, so the root lists them all.
func (t *Table) tickets() []*Ticket {
	var found []*Ticket
	root := &t.tree.root
	for _, lists := range [...]*[numHolds]list{&root.held, &root.waiting} {
		for _, l := range lists {
			for e := l.head; e != nil; e = e.next {
				found = append(found, e.ticket)
			}
		}
	}
	slices.SortFunc(found, func(a, b *Ticket) int { return cmp.Compare(a.seq, b.seq) })
	return found
}

func (tk *Ticket) expired(now time.Time) bool {
	return tk.state != waiting && !tk.expires.IsZero() && !now.Before(tk.expires)
}

// blocker returns a request that blocks the waiting tk, and the claim of tk that
// it blocks. A holder comes first, and else the earliest in the queue.
func (tk *Ticket) blocker() (tool.Claim, Blocker) {
	var mine, other *entry
	for i := range tk.entries {
		e := &tk.entries[i]
		against := conflicts[e.hold]
		if rest := e.node.holding & against; rest != 0 {
			mine, other = e, e.node.held[bits.TrailingZeros8(uint8(rest))].head
			break
		}
		for rest := e.node.queued & against; rest != 0; rest &= rest - 1 {
			ahead := e.node.waiting[bits.TrailingZeros8(uint8(rest))].head
			if ahead.ticket.seq < tk.seq && (other == nil || ahead.ticket.seq < other.ticket.seq) {
				mine, other = e, ahead
			}
		}
	}
	by := other.ticket
	c := by.conflictingClaim(mine.node, mine.hold)
	found := Blocker{
		Resource: c.Resource, Mode: c.Mode, Holder: by.holder, Since: by.since,
		Queued: by.state == waiting, Expired: by.expired(time.Now()),
	}
	if found.Queued {
		found.Since = by.asked
	}
	return tk.conflictingClaim(mine.node, holdAt(mine.node.path(), c)), found
}

// conflictingClaim returns the claim of tk that conflicts with hold h at n. If the
// entry of tk conflicts there is such a claim, because a join conflicts with h
// only where one of the joined holds does.
func (tk *Ticket) conflictingClaim(n *node, h hold) tool.Claim {
	path := n.path()
	for _, c := range tk.claims {
		if at := holdAt(path, c); at < numHolds && conflicts[at]&h.bit() != 0 {
			return c
		}
	}
	return tool.Claim{}
}

// holdAt returns the hold that a claim takes on the node at path, or numHolds if
// the claim does not touch that node.
func holdAt(path []string, c tool.Claim) hold {
	part, rest, _ := strings.Cut(c.Resource, ":")
	for _, want := range path {
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

// BusyError returns the error of a request whose wait timed out behind a blocker.
func BusyError(wanted tool.Claim, asked time.Time, by Blocker) error {
	what := "has held"
	switch {
	case by.Queued:
		what = "is ahead in the queue, waiting for"
	case by.Expired:
		what = "is being stopped, its time being up, and still holds"
	}
	const text = "%.200q stayed locked for %v: %s wanted, but %s %s %s on %.200q since %s (%v)"
	since := by.Since.UTC().Format(time.RFC3339)
	return tool.Errorf("lock.Wait", tool.Busy, text, wanted.Resource, elapsed(asked), wanted.Mode,
		by.Who(), what, by.Mode, by.Resource, since, elapsed(by.Since)).
		WithHint("try again when that call has ended, or claim less; `callgate locks` shows who holds what")
}

func elapsed(since time.Time) time.Duration { return time.Since(since).Round(time.Millisecond) }
