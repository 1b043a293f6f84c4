package gate

import (
	"context"
	"fmt"
	"time"

	"callgate/internal/gate/lock"
	"callgate/internal/gate/lockqueue"
	"callgate/internal/journal/outputbus"
	"callgate/internal/secret"
)

// locker takes the locks of a call and releases them.
type locker struct {
	locks   lockqueue.Locks
	wait    time.Duration  // in the queue
	output  *outputbus.Bus // nil: nobody watches
	secrets *secret.Vault
	records *recorder
	retries lockqueue.Retries
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
	if err := l.awaitRetries(ctx, c); err != nil {
		return err
	}
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

// awaitRetries has a call that changes something and does not say what wait for the calls that are made again.
func (l *locker) awaitRetries(ctx context.Context, c *callState) error {
	if l.retries.Running() == "" || c.caller.again ||
		!c.tool.Runtime.SideEffect.Durable() || !lockqueue.IsOpaque(c.tool, c.claims) {
		return nil
	}
	if l.output != nil {
		defer afterNotice(func() {
			if retry := l.retries.Running(); retry != "" {
				const text = "waiting for call %s, which was cut off and is being made again: it may touch the same thing\n"
				l.output.Publish(c.call.ID, "waiting", fmt.Appendf(nil, text, retry))
			}
		})()
	}
	return l.retries.Wait(ctx, l.wait)
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
