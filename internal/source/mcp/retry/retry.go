// Package retry decides when a server that failed may be tried again.
//
// # Law
//
// Failures are counted until something succeeds. After each of the first four
// the next try waits: 100 ms, and twice as long each time. With the fifth the
// breaker opens: for 30 s no try is allowed. Then one is; if it fails too, the
// breaker opens again.
package retry

import (
	"context"
	"sync"
	"time"
)

const (
	first = 100 * time.Millisecond // the wait after the first failure
	most  = 5                      // failures after which the breaker opens
	pause = 30 * time.Second       // how long it stays open
)

// Breaker counts the failures of one thing. The zero value is ready to use.
type Breaker struct {
	mu       sync.Mutex
	failures int
	next     time.Time // not before then
}

// State is the state of a breaker.
type State struct {
	Failures int       // in a row
	Open     bool      // no try is allowed before Next
	Next     time.Time // zero: at once
}

// State returns the state of this moment.
func (b *Breaker) State() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := State{Failures: b.failures}
	if time.Until(b.next) > 0 {
		s.Next, s.Open = b.next, b.failures >= most
	}
	return s
}

// Wait returns when a try is allowed, or at once with false while the breaker
// is open. It fails only when ctx ends first.
func (b *Breaker) Wait(ctx context.Context) (allowed bool, err error) {
	s := b.State()
	switch {
	case s.Open:
		return false, nil
	case s.Next.IsZero():
		return true, nil
	}
	timer := time.NewTimer(time.Until(s.Next))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// Failed counts a failure.
func (b *Breaker) Failed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	wait := pause
	if b.failures < most {
		wait = first << (b.failures - 1)
	}
	b.next = time.Now().Add(wait)
}

// Succeeded forgets the failures.
func (b *Breaker) Succeeded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.next = 0, time.Time{}
}
