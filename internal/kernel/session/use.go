package session

import (
	"sync"
	"time"
)

// idleTimeout is how long a session may lie idle before it counts as forgotten.
const idleTimeout = time.Hour

// use counts the calls of a session, ends it when it is idle for too long, and
// lets it end once.
type use struct {
	onEnd func() // called once, after the last call

	mu       sync.Mutex // orders the last call and the end
	ended    bool
	inFlight sync.WaitGroup
	calls    int
	active   time.Time   // when something last happened
	idle     *time.Timer // nil: the session does not end by itself
}

func newUse(onEnd func()) *use { return &use{onEnd: onEnd, active: time.Now()} }

// endWhenIdle calls end when nothing happened for too long.
func (u *use) endWhenIdle(end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.ended {
		u.idle = time.AfterFunc(idleTimeout, end)
	}
}

func (u *use) enter() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended {
		return false
	}
	u.inFlight.Add(1)
	u.calls++
	if u.idle != nil {
		u.idle.Stop()
	}
	return true
}

func (u *use) leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.inFlight.Done()
	u.calls--
	u.active = time.Now()
	if u.idle != nil && !u.ended {
		u.idle.Reset(idleTimeout)
	}
}

// end lets nothing new begin, waits for what runs, and calls onEnd. A second
// end returns at once.
func (u *use) end() {
	u.mu.Lock()
	if u.ended {
		u.mu.Unlock()
		return
	}
	u.ended = true
	if u.idle != nil {
		u.idle.Stop()
	}
	u.mu.Unlock()
	u.inFlight.Wait()
	u.onEnd()
}

// running returns how many calls are under way.
func (u *use) running() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls
}

// busy reports whether a call is under way, or the client was here so lately
// that it may be about to make one.
func (u *use) busy(lately time.Duration) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls > 0 || time.Since(u.active) < lately
}
