package lock

import (
	"context"
	"errors"
	"time"

	"callgate/tool"
)

// state is the state of a ticket. The mutex of the table guards it.
type state uint8

const (
	waiting state = iota
	granted       // its locks are held, and Wait has not yet returned the lease
	taken         // its locks are held by the lease that Wait returned
	ended         // it holds nothing and waits for nothing
)

// Ticket is a request in the queue, or one that was granted.
type Ticket struct {
	table        *Table
	seq          uint64
	holder       Holder
	claims       []tool.Claim
	inlineClaims [3]tool.Claim // the storage of claims, if they are few
	wait         time.Duration
	asked        time.Time
	ready        chan struct{} // closed when the wait ends; nil if it was granted at once
	lease        Lease
	entries      []entry
	blocked      int // the number of nodes at which it is blocked
	state        state
	since        time.Time // when it was granted
	expires      time.Time // when its lease expires; zero for never
}

// Wait blocks until the request is granted, and returns its lease. If ctx is done
// first (Cancelled, or Timeout at its deadline), or the request's wait times out
// (Busy, naming the blocker), the ticket is cancelled and the requests behind it
// advance. A call whose ctx is done never gets its lease; a grant at the very
// moment of the timeout still counts.
func (tk *Ticket) Wait(ctx context.Context) (*Lease, error) {
	if tk.ready != nil {
		var timeout <-chan time.Time
		if tk.wait != 0 {
			timer := time.NewTimer(time.Until(tk.asked.Add(tk.wait)))
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-tk.ready:
		case <-ctx.Done():
		case <-timeout:
		}
	}
	return tk.take(ctx)
}

// take ends the wait: it returns the lease, or drops the ticket.
func (tk *Ticket) take(ctx context.Context) (*Lease, error) {
	tk.table.mu.Lock()
	switch {
	case tk.state == taken:
	case tk.state == ended:
		tk.table.mu.Unlock()
		return nil, tool.Errorf("lock.Wait", tool.Cancelled, "the request for locks was cancelled")
	case ctx.Err() != nil:
		tk.table.drop(tk)
		tk.table.mu.Unlock()
		return nil, CancelledError(ctx)
	case tk.state == granted:
		tk.state = taken
	default:
		wanted, by := tk.blocker()
		tk.table.drop(tk)
		tk.table.mu.Unlock()
		return nil, BusyError(wanted, tk.asked, by)
	}
	tk.table.mu.Unlock()
	return &tk.lease, nil
}

// BlockedBy returns the blocker of a waiting ticket, and reports whether the ticket
// waits.
func (tk *Ticket) BlockedBy() (Blocker, bool) {
	tk.table.mu.Lock()
	defer tk.table.mu.Unlock()
	if tk.state != waiting {
		return Blocker{}, false
	}
	_, by := tk.blocker()
	return by, true
}

// Cancel ends the ticket, granted or not, and lets the requests behind it
// advance. Once Wait has returned the lease, only the lease releases the locks
// and Cancel does nothing, so it is safe to defer.
func (tk *Ticket) Cancel() {
	tk.table.mu.Lock()
	defer tk.table.mu.Unlock()
	if tk.state == waiting || tk.state == granted {
		tk.table.drop(tk)
	}
}

// Lease is the proof that every claim of a request is held.
type Lease struct {
	ticket *Ticket // nil when nothing was claimed
}

// Release releases all locks of the lease, and grants the requests that only it
// blocked. It may be called more than once.
func (l *Lease) Release() {
	if l.ticket == nil {
		return
	}
	tk := l.ticket
	tk.table.mu.Lock()
	defer tk.table.mu.Unlock()
	if tk.state != ended {
		tk.table.drop(tk)
	}
}

// WithExpiry limits the lease to d, and returns the context for the handler. When
// the lease expires, the context is done with a cause of kind Timeout. The locks
// stay held, because the handler may still be at work: release the lease when the
// handler has returned or has been stopped. A d of zero means no limit.
func (l *Lease) WithExpiry(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	if tk := l.ticket; tk != nil {
		tk.table.mu.Lock()
		tk.expires = time.Now().Add(d)
		tk.table.mu.Unlock()
	}
	return context.WithTimeoutCause(ctx, d, &tool.Error{
		Op: "lock.WithExpiry", Kind: tool.Timeout,
		Message: "the call held its locks for " + d.String() + ", the longest it may",
		Hint:    "do less in one call, or let the tool run longer",
	})
}

// CancelledError returns the error of a wait that its context ended.
func CancelledError(ctx context.Context) error {
	e := &tool.Error{
		Op: "lock.Wait", Kind: tool.Cancelled,
		Message: "the call was cancelled before it had its locks", Err: context.Cause(ctx),
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind, e.Message = tool.Timeout, "the call's time ran out before it had its locks"
	}
	return e
}

// Unlocked returns the lease of a call that claims nothing, or an error if ctx is
// done.
func Unlocked(ctx context.Context) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, CancelledError(ctx)
	}
	return new(Lease), nil
}
