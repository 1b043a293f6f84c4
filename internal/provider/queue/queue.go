// Package queue lets requests to a provider begin: in the order of their urgency, and within limits
// per minute.
//
// # Law
//
// A queue is for one key at one address of one provider; nothing of it is shared with another key.
// A request begins when each of its meters admits it, and only then is it counted, in all of them at
// once: a request that waits or is refused, for tokens or for anything else, has spent nothing. In
// any minute at most RPM requests of a meter begin. Their tokens are reserved by an estimate and
// corrected when they are known; a request that needs more than TPM alone reserves all of them. At
// most MaxConcurrent run at once.
//
// The more urgent goes first. A request counts as one level more urgent for every thirty seconds
// that it has waited, so none starves; among equals the older goes first. A request that a meter
// lets wait is not overtaken there by a later one, however small, but does not keep back requests of
// other meters. Requests for which nobody waits, of the levels Background and Low, are spread evenly
// over the minute until they have grown as urgent as others, so that one for which somebody waits
// finds a place soon.
//
// When a provider asks to wait, all requests of the key wait. One whose time would be over by then is
// refused at once, with how long the wait is. After as many failures in a row as its bounds say, a
// request is refused at once until the provider has cooled down; then one is sent as a probe, and the
// others wait for what becomes of it. A full queue refuses the least urgent, which may be one that
// waits already, of those under the same bounds.
//
// A request gives up with its context, and leaves no trace. Every request that begins must end once
// ([Ticket.Done]).
package queue

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Request is one request that wants to begin.
type Request struct {
	Level  Level
	Tokens int      // estimated, read and written
	Meters []*Meter // of the same queue as ever
	Bounds Bounds
}

// Queue lets requests begin. The zero value is ready; it is safe for concurrent use.
type Queue struct {
	mu       sync.Mutex
	waiting  []*waiter // in the order in which they begin
	paused   time.Time // until then nothing begins
	failures int       // in a row
	cool     time.Time // until then the provider cools down, if failures are enough
	probing  bool      // a request finds out whether the provider works again
	scan     uint64
	timer    *time.Timer
}

// waiter is a request in the queue.
type waiter struct {
	Request
	turn   time.Time     // requests begin in this order
	last   time.Time     // when it gives up at the latest; zero: never
	done   chan struct{} // closed when it began or was refused
	ticket *Ticket
	err    error
}

// Ticket is a request that has begun.
type Ticket struct {
	queue   *Queue
	request Request
	charges []*charge // one for each meter
	probe   bool
	ended   bool
}

// Wait returns when a request may begin. Its error is a [*Refusal] or the context's.
func (q *Queue) Wait(ctx context.Context, r Request) (*Ticket, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	w, err := q.enter(ctx, r)
	if err != nil {
		return nil, err
	}
	var over <-chan time.Time
	if r.Bounds.Wait > 0 {
		timer := time.NewTimer(r.Bounds.Wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-w.done:
		return w.ticket, w.err
	case <-ctx.Done():
		if !q.leave(w) && w.ticket != nil {
			w.ticket.Cancel() // it began at the same moment
		}
		return nil, context.Cause(ctx)
	case <-over:
		if !q.leave(w) {
			return w.ticket, w.err // it began, or was refused, at the same moment
		}
		return nil, &Refusal{Reason: WaitedTooLong, Waited: r.Bounds.Wait}
	}
}

// enter puts a request into the queue, and lets begin what may.
func (q *Queue) enter(ctx context.Context, r Request) (*waiter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	w := &waiter{Request: r, turn: now.Add(time.Duration(r.Level) * ageStep), done: make(chan struct{})}
	if deadline, ok := ctx.Deadline(); ok {
		w.last = deadline
	}
	if end := now.Add(r.Bounds.Wait); r.Bounds.Wait > 0 && (w.last.IsZero() || end.Before(w.last)) {
		w.last = end
	}
	i, _ := slices.BinarySearchFunc(q.waiting, w, func(o, w *waiter) int {
		if o.turn.After(w.turn) {
			return 1
		}
		return -1 // among equals the older goes first
	})
	q.waiting = slices.Insert(q.waiting, i, w)
	q.refuseWaiting(now)
	q.begin(now)
	if least, n := q.leastUrgent(r.Bounds); r.Bounds.Length > 0 && n > r.Bounds.Length {
		q.finish(least, nil, &Refusal{Reason: Full, Length: r.Bounds.Length})
	}
	if w.err != nil {
		return nil, w.err
	}
	return w, nil
}

// leastUrgent is, of the n that wait under the same bounds, the one of the lowest level, and of those
// the youngest.
func (q *Queue) leastUrgent(b Bounds) (least *waiter, n int) {
	for _, w := range q.waiting {
		if w.Bounds != b {
			continue
		}
		if n++; least == nil || w.Level >= least.Level {
			least = w
		}
	}
	return least, n
}

// leave takes a request out of the queue. It reports whether the request was still waiting.
func (q *Queue) leave(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if slices.Contains(q.waiting, w) {
		q.finish(w, nil, context.Canceled)
		q.begin(time.Now()) // it may have kept another back
		return true
	}
	return false
}

// finish ends the waiting of a request.
func (q *Queue) finish(w *waiter, t *Ticket, err error) {
	i := slices.Index(q.waiting, w)
	q.waiting = slices.Delete(q.waiting, i, i+1)
	w.ticket, w.err = t, err
	close(w.done)
}

// begin lets begin what may, and looks again when more may.
func (q *Queue) begin(now time.Time) {
	if len(q.waiting) == 0 {
		return
	}
	if now.Before(q.paused) {
		q.lookAgain(now, q.paused)
		return
	}
	q.scan++
	var next time.Time
	began := make([]*waiter, 0, 4)
	for _, w := range q.waiting {
		cooling := q.isCooling(w)
		if cooling && q.probing {
			continue
		}
		at, ok := q.admit(now, w)
		if !ok {
			if !at.IsZero() && (next.IsZero() || at.Before(next)) {
				next = at
			}
			continue
		}
		t := &Ticket{queue: q, request: w.Request, probe: cooling}
		q.probing = q.probing || cooling
		for _, m := range w.Meters {
			t.charges = append(t.charges, m.take(now, w.Level, w.Tokens))
		}
		w.ticket = t
		began = append(began, w)
	}
	for _, w := range began {
		q.finish(w, w.ticket, nil)
	}
	if !next.IsZero() {
		q.lookAgain(now, next)
	}
}

// admit asks the meters of a request. One that lets it wait lets all later ones of this scan wait.
func (q *Queue) admit(now time.Time, w *waiter) (at time.Time, ok bool) {
	ok = true
	for _, m := range w.Meters {
		when, free := m.admits(now, w.Tokens)
		switch {
		case m.blocked == q.scan:
			ok = false
			continue
		case !free:
			m.blocked, ok = q.scan, false
		case now.Before(m.paced) && now.Before(w.urgent()): // keeps back none for which somebody waits
			when, ok = earlier(m.paced, w.urgent()), false
		}
		if when.After(at) {
			at = when
		}
	}
	return at, ok
}

// urgent is when a request counts as one for which somebody waits.
func (w *waiter) urgent() time.Time { return w.turn.Add(-time.Duration(Interactive) * ageStep) }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// isCooling reports whether the provider has failed too often for a request.
func (q *Queue) isCooling(w *waiter) bool {
	return w.Bounds.CoolDownAfter > 0 && q.failures >= w.Bounds.CoolDownAfter
}

// refuseWaiting refuses those for which waiting is of no use: the provider cools down, or the pause
// lasts longer than they do.
func (q *Queue) refuseWaiting(now time.Time) {
	if !now.Before(q.paused) && !now.Before(q.cool) {
		return
	}
	for _, w := range slices.Clone(q.waiting) {
		pause := q.paused.Sub(now)
		switch {
		case q.isCooling(w) && now.Before(q.cool):
			q.finish(w, nil, &Refusal{Reason: CoolingDown, Wait: q.cool.Sub(now), Failures: q.failures})
		case pause > 0 && (!w.last.IsZero() && w.last.Before(q.paused) ||
			w.Bounds.Patience > 0 && pause > w.Bounds.Patience):
			q.finish(w, nil, &Refusal{Reason: Paused, Wait: pause})
		}
	}
}

// lookAgain has the queue let requests begin at a time.
func (q *Queue) lookAgain(now, at time.Time) {
	if q.timer != nil {
		q.timer.Stop()
	}
	q.timer = time.AfterFunc(at.Sub(now), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.begin(time.Now())
	})
}
