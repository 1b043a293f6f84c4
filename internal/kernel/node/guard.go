package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"callgate/tool"
)

// The law of the guard.
//
// A node may act as long as nobody else can have been told that it is dead. Others go by the lease in the database, on
// the server's clock. The node goes by its own clock: it may act until the lease's length, less a margin, has passed
// since it SENT the last heartbeat that succeeded. The server counts from when that heartbeat arrived, which is later,
// so the node stops first, however the two clocks are set.
//
//   - While it may not act it is suspended: no handler begins, and those that ran have been cancelled. Whatever they do
//     after that is theirs: a handler that does not stop when told to is named in its call's end.
//   - A heartbeat that succeeds ends the suspension: the epoch is the one with which the node was opened, so nobody
//     took anything over.
//   - A heartbeat that finds another epoch ends the node for good: another process has its name, or another node has
//     taken over what it had. Its kernel ends with the cause.
//
// What a machine's sleep does to the clocks differs from system to system. So time is taken twice, from the clock that
// never goes back and from that of the day, and the one that has moved further counts.

// Timing is how long a lease lasts, and how often it is renewed.
type Timing struct {
	Lease  time.Duration // default 15 s
	Every  time.Duration // between two heartbeats; default a fifth of the lease
	Margin time.Duration // by which the node stops before its lease is over; default a fifth of the lease
	Away   time.Duration // after which what a node left that has ended is another's; default 5 min
}

func (t Timing) withDefaults() Timing {
	if t.Lease <= 0 {
		t.Lease = 15 * time.Second
	}
	if t.Every <= 0 {
		t.Every = t.Lease / 5
	}
	if t.Away <= 0 {
		t.Away = 5 * time.Minute
	}
	if t.Margin <= 0 || t.Margin >= t.Lease {
		t.Margin = t.Lease / 5
	}
	return t
}

// Guard lets a node act, or not. A nil Guard is that of a kernel that shares its storage with nobody: it always may.
type Guard struct {
	timing Timing
	since  func(time.Time) time.Duration // how long ago a time was

	mu      sync.Mutex
	sent    time.Time // when the last heartbeat that succeeded was sent
	stopped error     // why the node may not act; nil: it may
	over    bool      // for good
	acting  context.Context
	cancel  context.CancelCauseFunc
	ended   chan struct{} // closed when the node may act no more, for good
	beats   Heartbeats
}

// newGuard makes a guard of a node whose opening, which is its first heartbeat, was sent at a time.
func newGuard(timing Timing, sent time.Time) *Guard {
	g := &Guard{timing: timing.withDefaults(), since: elapsed, sent: sent, ended: make(chan struct{})}
	g.acting, g.cancel = context.WithCancelCause(context.Background())
	return g
}

// elapsed is how long ago a time was, by the clock that has moved further.
func elapsed(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// Act returns a context in which something may be done: it ends with ctx, and when the node may not act any more, with
// the reason as its cause. If the node may not act now, that is the error. The function that it returns is called when
// the thing is done.
func (g *Guard) Act(ctx context.Context) (context.Context, func(), error) {
	if g == nil {
		return ctx, func() {}, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.look()
	if g.stopped != nil {
		return nil, nil, g.stopped
	}
	ctx, cancel := context.WithCancelCause(ctx)
	acting := g.acting
	forget := context.AfterFunc(acting, func() { cancel(context.Cause(acting)) })
	return ctx, func() { forget(); cancel(nil) }, nil
}

// Stopped says why the node may not act now; nil: it may.
func (g *Guard) Stopped() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.look()
	return g.stopped
}

// Ended is closed when the node may act no more, for good: Stopped says why. It is nil for a nil Guard.
func (g *Guard) Ended() <-chan struct{} {
	if g == nil {
		return nil
	}
	return g.ended
}

// look suspends the node if its time is over. The lock is held.
func (g *Guard) look() {
	if g.stopped == nil && g.since(g.sent) >= g.timing.Lease-g.timing.Margin {
		g.stop(tool.Errorf("node", tool.Unavailable,
			"this machine has not reached the database it shares with others for %v, and does nothing until it has",
			g.since(g.sent).Round(time.Second)).
			WithHint("what ran was stopped; see that the database server runs and can be reached, and try again then"))
	}
}

// stop has everything stop that acts. The lock is held.
func (g *Guard) stop(why error) {
	if g.stopped == nil {
		g.beats.Suspensions++
		g.beats.suspendedAt = time.Now()
	}
	g.stopped = why
	g.cancel(why)
}

// renewed takes a heartbeat that succeeded.
func (g *Guard) renewed(sent time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return
	}
	g.sent = sent
	g.beats.lastTook = g.since(sent)
	g.beats.Took.Add(g.beats.lastTook)
	if g.look(); g.stopped != nil && g.since(sent) < g.timing.Lease-g.timing.Margin {
		g.stopped = nil
		g.beats.suspendedFor += g.since(g.beats.suspendedAt)
		g.beats.suspendedAt = time.Time{}
		g.acting, g.cancel = context.WithCancelCause(context.Background())
	}
}

// missed counts a heartbeat that failed.
func (g *Guard) missed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.beats.Failed++
}

// end stops the node for good.
func (g *Guard) end(why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return
	}
	g.over = true
	g.stop(why)
	close(g.ended)
}

// left is how long the node may act yet, if no heartbeat succeeds.
func (g *Guard) left() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.timing.Lease - g.timing.Margin - g.since(g.sent)
}

// errLost is the error of a heartbeat of an epoch that is past.
var errLost = errors.New("another epoch")

// keep sends heartbeats until ctx ends or the node does. beat returns an error that errLost is part of when the epoch
// is another.
func (g *Guard) keep(ctx context.Context, beat func(context.Context) error, failed func(error)) {
	suspend := time.AfterFunc(g.left(), func() { _ = g.Stopped() })
	defer suspend.Stop()
	for pause := g.timing.Every; ; {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		_ = g.Stopped() // after a machine's sleep the clock of the timers is late: see elapsed
		sent := time.Now()
		limited, cancel := context.WithTimeout(ctx, g.timing.Lease/3) // there is time for another connection
		err := beat(limited)
		cancel()
		switch {
		case err == nil:
			g.renewed(sent)
			suspend.Reset(max(g.left(), 0))
			pause = max(g.timing.Every-time.Since(sent), 0)
		case errors.Is(err, errLost):
			g.end(err)
			return
		case ctx.Err() != nil:
			return
		default:
			g.missed()
			failed(err)
			pause = g.timing.Every / 3 // a connection that was lost may be back at once
		}
	}
}
