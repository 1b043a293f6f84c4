package pgnode

import (
	"sync/atomic"
	"time"

	"callgate/internal/observe/metric"
)

// Stats are numbers of what this process asked of the database since it opened it.
type Stats struct {
	Writes      metric.Histogram // how long transactions took, with what they waited for a connection
	WriteErrors uint64           // transactions that did not commit
	LostCommits uint64           // COMMITs whose answer was lost, and which were settled
	TakenOver   uint64           // nodes that this one took over

	Connections, Busy, MaxConnections int    // of the pool of the stores, now
	Waits                             uint64 // that all connections were busy, and one was waited for
	Waited                            time.Duration
}

// counts are what a database counts.
type counts struct {
	writes                              metric.Timer
	writeErrors, lostCommits, takenOver atomic.Uint64
	clock                               atomic.Int64 // how far this machine's clock is ahead, in nanoseconds
}

// wrote counts a transaction.
func (c *counts) wrote(began time.Time, err error) {
	c.writes.Add(time.Since(began))
	if err != nil {
		c.writeErrors.Add(1)
	}
}

// compareClocks notes how far the clock of this machine is ahead of the server's, which was read between two times of
// this machine: as near as half of what lies between them.
func (c *counts) compareClocks(sent, received, server time.Time) {
	middle := sent.Round(0).Add(received.Sub(sent) / 2)
	c.clock.Store(int64(middle.Sub(server)))
}

// ClockAhead is how far the clock of this machine is ahead of the server's, by the last heartbeat; negative: behind.
// Nothing that is kept apart by leases goes by it; the times that people read do.
func (n *Nodes) ClockAhead() time.Duration { return time.Duration(n.db.counts.clock.Load()) }

// Stats returns the numbers as they are now.
func (db *DB) Stats() Stats {
	pool := db.pool.Stat()
	return Stats{
		Writes: db.counts.writes.Read(), WriteErrors: db.counts.writeErrors.Load(),
		LostCommits: db.counts.lostCommits.Load(), TakenOver: db.counts.takenOver.Load(),
		Connections: int(pool.TotalConns()), Busy: int(pool.AcquiredConns()), MaxConnections: int(pool.MaxConns()),
		Waits: uint64(max(pool.EmptyAcquireCount(), 0)), Waited: pool.EmptyAcquireWaitTime(),
	}
}
