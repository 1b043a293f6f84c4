package gate

import (
	"context"
	"fmt"
	"time"

	"callgate/internal/gate/lock"
	"callgate/internal/journal/outputbus"
	"callgate/internal/secret"
)

// Locks orders calls that touch the same thing: [LocalLocks] for one kernel, package sharedlocks for several.
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

type localLocks struct{ table *lock.Table }

func (l localLocks) Enqueue(r lock.Request) (Ticket, error) {
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

// locker takes the locks of a call and releases them.
type locker struct {
	locks   Locks
	wait    time.Duration  // in the queue
	output  *outputbus.Bus // nil: nobody watches
	secrets *secret.Vault
	records *recorder
}

// enqueue takes the call's place in the lock queue.
func (l *locker) enqueue(c *callState) (err error) {
	c.ticket, err = l.locks.Enqueue(lock.Request{
		Claims: c.claims, Wait: l.wait,
		Holder: lock.Holder{Call: c.call.ID, Tool: c.tool.ID.Dotted(), Principal: c.call.Principal.String()},
	})
	return err
}

// acquireLocks takes every claim, all or none, in line.
func (l *locker) acquireLocks(ctx context.Context, c *callState) (err error) {
	if len(c.claims) == 0 {
		lease, err := lock.Unlocked(ctx)
		if err != nil {
			return err
		}
		c.lease = lease
		return nil
	}
	if c.ticket == nil {
		if err := l.enqueue(c); err != nil {
			return err
		}
	}
	defer l.reportWait(c)()
	c.lease, err = c.ticket.Wait(ctx)
	return err
}

// lockWaitNotice is how long a call waits for its locks, or for its turn, before its
// watchers learn for whom.
const lockWaitNotice = 500 * time.Millisecond

// reportWait publishes who blocks a call that waits for long. It returns
// the function that stops the clock.
func (l *locker) reportWait(c *callState) (stop func()) {
	if _, waits := c.ticket.BlockedBy(); !waits || l.output == nil {
		return func() {}
	}
	return afterNotice(func() {
		by, waits := c.ticket.BlockedBy()
		if !waits || by.Resource == "" {
			return
		}
		what := "holds it"
		if by.Queued {
			what = "is ahead in the queue"
		}
		text := fmt.Appendf(nil, "waiting for %.200s: %s %s\n", by.Resource, by.Who(), what)
		l.output.Publish(c.call.ID, "waiting", l.secrets.Scrub(text))
	})
}

// reportEarlier publishes for which earlier call of its answer a call waits for long.
// It returns the function that stops the clock.
func (l *locker) reportEarlier(c *callState) (stop func()) {
	if _, waits := c.how.place.Ahead(); !waits || l.output == nil {
		return func() {}
	}
	return afterNotice(func() {
		if earlier, waits := c.how.place.Ahead(); waits {
			const text = "waiting for %s, which stands before this call in the same answer and touches the same thing\n"
			l.output.Publish(c.call.ID, "waiting", l.secrets.Scrub(fmt.Appendf(nil, text, earlier)))
		}
	})
}

// afterNotice tells the watchers of a call, once it has waited for long. It returns
// the function that stops the clock.
func afterNotice(tell func()) (stop func()) {
	told := make(chan struct{})
	timer := time.AfterFunc(lockWaitNotice, func() {
		defer close(told)
		tell()
	})
	return func() {
		if !timer.Stop() {
			<-told // it does not block, and nothing is published after the call
		}
	}
}

// release returns what the call holds: at once, or, when its handler did not
// stop in time, as soon as it has.
func (l *locker) release(c *callState) {
	switch {
	case c.lease == nil && c.ticket != nil:
		c.ticket.Cancel()
	case c.lease == nil:
	case c.handlerDone == nil:
		c.lease.Release()
	default:
		if c.how.place != nil {
			c.how.place.StillRuns(c.handlerDone)
		}
		lease := c.lease
		go func() {
			<-c.handlerDone
			lease.Release()
			l.records.note(c, "the handler has stopped at last, and its locks are released")
		}()
	}
}
