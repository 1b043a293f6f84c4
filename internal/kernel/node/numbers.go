package node

import (
	"context"
	"sync"
	"time"

	"callgate/internal/journal"
	"callgate/internal/observe/metric"
	"callgate/internal/storage"
	"callgate/internal/storage/postgres/backlog"
	"callgate/internal/storage/postgres/locks"
	"callgate/internal/storage/postgres/pgnode"
)

// Health is how a node fares, as it tells the others with each heartbeat.
type Health struct {
	RoundTrip   time.Duration `json:"round_trip,omitempty"`  // of the heartbeat before
	ClockAhead  time.Duration `json:"clock_ahead,omitempty"` // of the database's clock; negative: behind
	Suspensions uint64        `json:"suspensions,omitempty"` // how often it stopped, because it did not reach the database
	Signs       string        `json:"signs,omitempty"`       // names the key with which it signs what gives rights; "": it has none
}

// Heartbeats are numbers of a node's heartbeats since it was opened.
type Heartbeats struct {
	Took         metric.Histogram // of those that succeeded
	Failed       uint64
	Last         time.Duration // how long ago the last one that succeeded was sent
	LeaseLeft    time.Duration // how long the node may act if no other succeeds; negative: it may not
	Suspensions  uint64
	Suspended    time.Duration // all of them together
	IsSuspended  bool
	lastTook     time.Duration
	suspendedAt  time.Time // zero: it is not suspended
	suspendedFor time.Duration
}

// Heartbeats returns the numbers as they are now.
func (g *Guard) Heartbeats() Heartbeats {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.look()
	h := g.beats
	h.Last = g.since(g.sent)
	h.LeaseLeft = g.timing.Lease - g.timing.Margin - h.Last
	h.Suspended = h.suspendedFor
	if h.IsSuspended = !h.suspendedAt.IsZero(); h.IsSuspended {
		h.Suspended += g.since(h.suspendedAt)
	}
	return h
}

// Forwarding counts the requests that other nodes are asked to answer, by what became of them. The zero value is ready.
type Forwarding struct {
	mu sync.Mutex
	by map[string]*metric.Histogram
}

// Add counts a request that ended in an outcome, which is one of few words.
func (f *Forwarding) Add(outcome string, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = map[string]*metric.Histogram{}
	}
	if f.by[outcome] == nil {
		f.by[outcome] = &metric.Histogram{}
	}
	f.by[outcome].Add(took)
}

// Read returns what was counted.
func (f *Forwarding) Read() map[string]metric.Histogram {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make(map[string]metric.Histogram, len(f.by))
	for outcome, h := range f.by {
		all[outcome] = *h
	}
	return all
}

// Numbers are those of a node among others.
type Numbers struct {
	Heartbeats
	Epoch      int64
	Draining   bool
	ClockAhead time.Duration
	Database   pgnode.Stats
	Locks      locks.Stats
}

// Numbers returns how this node stands; false: it is alone.
func (n *Node) Numbers() (Numbers, bool) {
	if n.shared == nil {
		return Numbers{}, false
	}
	_, epoch := n.shared.db.Node()
	return Numbers{
		Heartbeats: n.Heartbeats(), Epoch: epoch, Draining: n.shared.draining.Load(),
		ClockAhead: n.shared.db.Nodes().ClockAhead(), Database: n.shared.db.Stats(), Locks: n.shared.locks.Stats(),
	}, true
}

// health is what the next heartbeat tells.
func (n *Node) health() Health {
	h := n.Heartbeats()
	return Health{
		RoundTrip: h.lastTook, ClockAhead: n.shared.db.Nodes().ClockAhead(), Suspensions: h.Suspensions,
		Signs: n.Key.ID(),
	}
}

// What waits at a node, and what nodes lock together.
type (
	// Backlog is what waits at one node.
	Backlog = backlog.Node
	// SharedClaim is one claim of what all nodes share.
	SharedClaim = locks.Claim
)

// Backlogs returns what waits at each node, by their IDs; nil: this kernel is alone.
func (n *Node) Backlogs(ctx context.Context) (map[string]Backlog, error) {
	if n.shared == nil {
		return nil, nil
	}
	return backlog.Read(ctx, n.shared.db.DB)
}

// SharedClaims returns what is held and waited for at all nodes, those that wait first; none: this kernel is alone.
func (n *Node) SharedClaims(ctx context.Context, limit int) ([]SharedClaim, error) {
	if n.shared == nil {
		return nil, nil
	}
	return n.shared.locks.Claims(ctx, limit)
}

// JournalWrites are how long writes of the journal took, and how many records they had.
type JournalWrites struct {
	Took    metric.Histogram
	Records uint64
	Failed  uint64
}

// measuredJournal counts what the journal writes.
type measuredJournal struct {
	journal.Store
	mu     sync.Mutex
	writes JournalWrites
}

// Append counts the write of some rows.
func (m *measuredJournal) Append(ctx context.Context, rows []journal.Row) error {
	began := time.Now()
	err := m.Store.Append(ctx, rows)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes.Took.Add(time.Since(began))
	if err != nil {
		m.writes.Failed++
	} else {
		m.writes.Records += uint64(len(rows))
	}
	return err
}

// Stores returns the stores, with a journal whose writes are counted.
func (n *Node) Stores() storage.Stores {
	stores := n.Driver.Stores()
	n.measure.Do(func() { n.journal.Store = stores.Journal })
	stores.Journal = &n.journal
	return stores
}

// JournalWrites returns the numbers as they are now.
func (n *Node) JournalWrites() JournalWrites {
	n.journal.mu.Lock()
	defer n.journal.mu.Unlock()
	return n.journal.writes
}
