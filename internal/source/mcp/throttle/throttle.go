// Package throttle slows down servers that send without end.
//
// # Law
//
// A server may send a burst of messages that nobody asked for, and then so many a
// second. What it sends beyond that is read later: its pipe or its connection fills,
// and it waits. So noise costs its server's time and not ours. Answers are not counted,
// but those that stand behind noise come as late as the noise does. The lines that a
// command writes to its standard error are bounded in the same way, with more room.
package throttle

import (
	"cmp"
	"sync"
	"time"
)

// The bounds.
const (
	Burst = 2000 // messages at once
	Rate  = 500  // messages a second after that

	LogBurst = 20000 // lines of the standard error at once
	LogRate  = 5000  // lines a second after that

	leastWait = 100 * time.Millisecond // shorter waits are saved up: each costs a wake-up

	shownFor = time.Minute // how long a server counts as slowed after it last was
)

// Meter counts the messages of one server. The zero value is ready to use.
type Meter struct {
	// OnSlow is called when a server is slowed for the first time; it must not
	// block. It may be nil.
	OnSlow func()

	// Burst and Rate are the bounds; 0: those of messages.
	Burst, Rate float64

	mu     sync.Mutex
	used   float64 // of the burst
	at     time.Time
	slowed time.Time // when it last was
	told   bool
}

// Take counts a message and returns how long to wait before the next is read.
func (m *Meter) Take() (wait time.Duration) { return m.TakeMany(1) }

// TakeMany counts several messages at once, as Take does one.
func (m *Meter) TakeMany(n float64) (wait time.Duration) {
	burst, rate := cmp.Or(m.Burst, Burst), cmp.Or(m.Rate, Rate)
	m.mu.Lock()
	now := time.Now()
	m.used = min(max(0, m.used-now.Sub(m.at).Seconds()*rate)+n, burst+rate) // no wait is longer than a second
	m.at = now
	first := false
	if over := m.used - burst; over > 0 {
		if wait = time.Duration(over / rate * float64(time.Second)); wait < leastWait {
			wait = 0
		}
		m.slowed = now
		first, m.told = !m.told, true
	}
	m.mu.Unlock()
	if first && m.OnSlow != nil {
		m.OnSlow()
	}
	return wait
}

// Slowed reports whether the server was slowed lately, and when it last was.
func (m *Meter) Slowed() (last time.Time, slowed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.slowed, !m.slowed.IsZero() && time.Since(m.slowed) < shownFor
}

// Pause is the wait before the tools of a server that says again and again that they
// have changed are fetched once more: none at first, then 1 s, 10 s and 1 min. It is
// none again when the server was quiet for twice as long. The zero value is ready to
// use, by one goroutine at a time.
type Pause struct {
	pause time.Duration
	last  time.Time
}

// Next returns how long to wait now; the fetch follows at once after that.
func (p *Pause) Next() time.Duration {
	quiet := time.Since(p.last)
	if p.last.IsZero() || quiet > 2*max(p.pause, time.Second) {
		p.pause = 0
	} else {
		p.pause = min(max(10*p.pause, time.Second), time.Minute)
	}
	wait := max(0, p.pause-quiet)
	if p.last.IsZero() {
		wait = 0
	}
	p.last = time.Now().Add(wait)
	return wait
}
