package agent

import (
	"sync"
	"time"
)

// clock measures what a turn takes of the model's time. It stands while calls run, which
// have limits of their own and may wait for a human, and while a provider has asked to
// wait. A nil clock measures nothing.
type clock struct {
	expired func() // called once the time is over

	mu      sync.Mutex
	left    time.Duration
	since   time.Time // when it began to run; zero: it stands
	timer   *time.Timer
	stopped bool // for good
}

// newClock returns a clock that runs; nil for a limit of 0.
func newClock(limit time.Duration, expired func()) *clock {
	if limit <= 0 {
		return nil
	}
	c := &clock{expired: expired, left: limit}
	c.run()
	return c
}

// pause stops the clock, and returns the function that lets it run again.
func (c *clock) pause() (resume func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stand()
	return c.run
}

// extend gives the turn more time.
func (c *clock) extend(d time.Duration) {
	if c == nil || d <= 0 {
		return
	}
	c.mu.Lock()
	runs := !c.since.IsZero()
	c.stand()
	c.left += d
	c.mu.Unlock()
	if runs {
		c.run()
	}
}

// stop ends the clock.
func (c *clock) stop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stand()
	c.stopped = true
}

func (c *clock) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped || !c.since.IsZero() {
		return
	}
	c.since = time.Now()
	c.timer = time.AfterFunc(c.left, c.expired)
}

// stand stops the timer and counts what has passed. The caller holds mu.
func (c *clock) stand() {
	if c.since.IsZero() {
		return
	}
	c.timer.Stop()
	c.left -= time.Since(c.since)
	c.since = time.Time{}
}
