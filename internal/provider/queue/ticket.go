package queue

import (
	"fmt"
	"time"
)

// Verdict is what the end of a request says about its provider.
type Verdict int

// The verdicts.
const (
	Nothing Verdict = iota // the caller ended it
	Works                  // the provider answered, if only that it declines
	Fails                  // the provider failed or could not be reached
)

// End is how a request ended.
type End struct {
	Verdict Verdict
	Tokens  int           // that it took; -1: not known, and the estimate stays
	Pause   time.Duration // how long the provider asks to wait; 0: not at all
}

// Done ends a request. Only the first time counts.
func (t *Ticket) Done(e End) {
	t.end(func(m *Meter, c *charge) {
		if e.Tokens >= 0 {
			m.correct(c, t.request.Level, e.Tokens)
		}
	}, func(now time.Time) { t.learn(now, e) })
}

// Cancel ends a request that was never sent: it is not counted at all.
func (t *Ticket) Cancel() {
	t.end(func(m *Meter, c *charge) { m.remove(c) }, nil)
}

// end takes the request out of its meters' running ones, and lets others begin.
func (t *Ticket) end(count func(*Meter, *charge), learn func(now time.Time)) {
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.ended {
		return
	}
	t.ended = true
	now := time.Now()
	for i, m := range t.request.Meters {
		m.running--
		count(m, t.charges[i])
	}
	if t.probe {
		q.probing = false
	}
	if learn != nil {
		learn(now)
	}
	q.refuseWaiting(now)
	q.begin(now)
}

// learn takes from the end of a request how its provider is.
func (t *Ticket) learn(now time.Time, e End) {
	q := t.queue
	if until := now.Add(min(e.Pause, maxPause)); e.Pause > 0 && until.After(q.paused) {
		q.paused = until
	}
	switch e.Verdict {
	case Works:
		q.failures = 0
	case Fails:
		q.failures++
		if b := t.request.Bounds; b.CoolDownAfter > 0 && q.failures >= b.CoolDownAfter {
			q.cool = now.Add(b.CoolDown)
		}
	}
}

// Reason is why a request was refused.
type Reason string

// The reasons.
const (
	Full          Reason = "full"            // too many wait already
	WaitedTooLong Reason = "waited too long" // its bound is over
	Paused        Reason = "paused"          // the provider asks to wait longer than the request can
	CoolingDown   Reason = "cooling down"    // the provider failed too often in a row
)

// Refusal is why a request was not sent. It has spent nothing.
type Refusal struct {
	Reason   Reason
	Wait     time.Duration // how long Paused or CoolingDown lasts
	Waited   time.Duration // of WaitedTooLong
	Length   int           // of Full
	Failures int           // of CoolingDown
}

// Error says what is known of when it can be tried again.
func (r *Refusal) Error() string {
	switch r.Reason {
	case Full:
		return fmt.Sprintf("the request was not sent: %d others wait already, which is the most", r.Length)
	case WaitedTooLong:
		return fmt.Sprintf("the request was not sent: its turn had not come after %v", r.Waited)
	case CoolingDown:
		return fmt.Sprintf("the request was not sent: the provider failed %d times in a row, and is asked again in %v",
			r.Failures, r.Wait.Round(time.Millisecond))
	}
	return fmt.Sprintf("the request was not sent: the provider asked to wait, for another %v",
		r.Wait.Round(time.Millisecond))
}

// NotSent wraps why nobody was sent a request: its caller went away while it waited, or there was no
// connection. It has spent nothing.
type NotSent struct{ Err error }

// Error is that of what it wraps.
func (n *NotSent) Error() string { return n.Err.Error() }

// Unwrap returns what it wraps.
func (n *NotSent) Unwrap() error { return n.Err }
