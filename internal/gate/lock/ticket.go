package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"callgate/tool"
)

// state is how far a place has come. The mutex of the table guards it.
type state uint8

const (
	waiting state = iota
	granted       // its locks are held, and nobody has taken the lease yet
	taken         // its locks are held by the lease that Wait gave out
	gone          // it holds nothing and waits for nothing, for good
)

// Ticket is a request's place in the queue.
type Ticket struct {
	table        *Table
	seq          uint64
	holder       Holder
	claims       []tool.Claim
	inlineClaims [3]tool.Claim // room for claims, when they are few
	wait         time.Duration
	asked        time.Time
	ready        chan struct{} // closed at the end of waiting; nil when there was none
	lease        Lease
	entries      []entry
	blocked      int // the nodes at which it is blocked
	state        state
	since        time.Time // when it was granted
	expires      time.Time // when its lease runs out; zero for never
}

// Wait blocks until the place is granted, and gives out its lease. When ctx is
// done first (Cancelled, or Timeout at its deadline), or the request's wait
// runs out (Busy, naming who stands in the way), the place is given up and
// those behind it move on. A call whose ctx is done is never granted; a grant
// that comes at the very moment of the wait's end still counts.
func (p *Ticket) Wait(ctx context.Context) (*Lease, error) {
	if p.ready != nil {
		var late <-chan time.Time
		if p.wait != 0 {
			timer := time.NewTimer(time.Until(p.asked.Add(p.wait)))
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-p.ready:
		case <-ctx.Done():
		case <-late:
		}
	}
	return p.take(ctx)
}

// take ends the waiting, one way or the other.
func (p *Ticket) take(ctx context.Context) (*Lease, error) {
	p.table.mu.Lock()
	switch {
	case p.state == taken:
	case p.state == gone:
		p.table.mu.Unlock()
		return nil, tool.Errorf("lock.Wait", tool.Cancelled, "the place in the lock queue was given up")
	case ctx.Err() != nil:
		p.table.drop(p)
		p.table.mu.Unlock()
		return nil, cancelledError(ctx)
	case p.state == granted:
		p.state = taken
	default:
		wanted, by := p.blocker()
		p.table.drop(p)
		p.table.mu.Unlock()
		return nil, busy(wanted, p.asked, by)
	}
	p.table.mu.Unlock()
	return &p.lease, nil
}

// BlockedBy tells who stands in the way of a place that waits, and reports whether
// it does.
func (p *Ticket) BlockedBy() (Blocker, bool) {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	if p.state != waiting {
		return Blocker{}, false
	}
	_, by := p.blocker()
	return by, true
}

// Cancel gives the place up, granted or not, and lets those behind it move on.
// Once Wait has given out the lease, the locks are the lease's to release and
// Leave does nothing, so it is a safe thing to defer.
func (p *Ticket) Cancel() {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	if p.state == waiting || p.state == granted {
		p.table.drop(p)
	}
}

// Lease is the proof that every claim of a request is held.
type Lease struct {
	ticket *Ticket // nil when nothing was claimed
}

// Release lets everything go, and grants whoever waited only for this. It may
// be called more than once.
func (l *Lease) Release() {
	if l.ticket == nil {
		return
	}
	p := l.ticket
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	if p.state != gone {
		p.table.drop(p)
	}
}

// WithExpiry gives the lease an end, and returns the context for the handler to run
// under: when the lease runs out it is done, with a cause of kind Timeout. The
// locks stay held, for the handler may still be at work: release the lease
// when the handler has returned or has been reaped. A d of zero is no end.
func (l *Lease) WithExpiry(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	if p := l.ticket; p != nil {
		p.table.mu.Lock()
		p.expires = time.Now().Add(d)
		p.table.mu.Unlock()
	}
	return context.WithTimeoutCause(ctx, d, &tool.Error{
		Op: "lock.Guard", Kind: tool.Timeout,
		Message: fmt.Sprintf("the call held its locks for %v, the longest it may", d),
		Hint:    "do less in one call, or let the tool run longer",
	})
}

// cancelledError says why a place was given up when its context was done.
func cancelledError(ctx context.Context) error {
	e := &tool.Error{Op: "lock.Wait", Kind: tool.Cancelled, Message: "the call was cancelled before it had its locks", Err: context.Cause(ctx)}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind, e.Message = tool.Timeout, "the call's time ran out before it had its locks"
	}
	return e
}

// Unlocked returns the lease of a call that claims nothing. A call whose ctx is
// done gets none.
func Unlocked(ctx context.Context) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, cancelledError(ctx)
	}
	return new(Lease), nil
}
