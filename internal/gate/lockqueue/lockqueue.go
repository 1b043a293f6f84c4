// Package lockqueue is where the gate has its calls wait for each other. [Locks] is what it takes its locks from: the
// table of one kernel ([Local]), or that and what several kernels share (package sharedlocks). [Retries] is for what no
// lock can order: calls that do not say what they touch wait for those that are made again after a crash.
package lockqueue

import (
	"context"
	"time"

	"callgate/internal/gate/lock"
)

// Locks orders calls that touch the same thing.
type Locks interface {
	// Enqueue takes a place in the queue for everything that a call claims.
	Enqueue(lock.Request) (Ticket, error)
}

// Ticket is a place in the lock queue.
type Ticket interface {
	// Wait blocks until every claim is held.
	Wait(context.Context) (Lease, error)
	// BlockedBy returns who is in the way, and whether anybody is or, with the zero Blocker, may be.
	BlockedBy() (lock.Blocker, bool)
	// Cancel gives the place up.
	Cancel()
}

// Lease is the proof that every claim of a call is held.
type Lease interface {
	// WithExpiry returns the context for a handler, which ends when the lease
	// runs out. The locks stay held until Release.
	WithExpiry(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	Release()
}

// Local is the queue of one kernel.
func Local(t *lock.Table) Locks { return local{t} }

type local struct{ table *lock.Table }

func (l local) Enqueue(r lock.Request) (Ticket, error) {
	t, err := l.table.Enqueue(r)
	if err != nil {
		return nil, err
	}
	return localTicket{t}, nil
}

type localTicket struct{ *lock.Ticket }

func (t localTicket) Wait(ctx context.Context) (Lease, error) {
	l, err := t.Ticket.Wait(ctx)
	if err != nil {
		return nil, err
	}
	return l, nil
}
