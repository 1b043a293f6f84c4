package session

import (
	"context"
	"sync"
	"time"
)

// idleTimeout is how long a session may lie idle before it counts as forgotten.
const idleTimeout = time.Hour

// use counts the calls of a session, ends it when it is idle for too long, and
// lets it end once. A call that goes on in the background keeps what the session
// holds, and not the session.
type use struct {
	onEnd   func() // called once, after the last call that somebody waits for
	onEmpty func() // called once, after that and after the last call of all

	mu       sync.Mutex // orders the last call and the end
	ended    bool
	inFlight sync.WaitGroup
	kept     int // calls in the background, and one for the session itself until it has ended
	calls    int
	active   time.Time     // when something last happened
	left     chan struct{} // closed when the next call ends; nil: nobody waits for it
	idle     *time.Timer   // nil: the session does not end by itself
}

func newUse(onEnd, onEmpty func()) *use {
	return &use{onEnd: onEnd, onEmpty: onEmpty, kept: 1, active: time.Now()}
}

// keep keeps what the session holds for a call in the background, until release is
// called. It is called by a call that is under way.
func (u *use) keep() (release func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept++
	return sync.OnceFunc(u.drop)
}

func (u *use) drop() {
	u.mu.Lock()
	u.kept--
	empty := u.kept == 0
	u.mu.Unlock()
	if empty {
		u.onEmpty()
	}
}

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
	if u.left != nil {
		close(u.left)
		u.left = nil
	}
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
	u.drop()
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

// waitIdle waits until the session is not busy, or ctx ends.
func (u *use) waitIdle(ctx context.Context, lately time.Duration) {
	for u.busy(lately) {
		left, rest := u.nextChange(lately)
		timer := time.NewTimer(rest)
		select {
		case <-left:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// nextChange is when the session may stop being busy: when a call ends, or, if none
// runs, after a time.
func (u *use) nextChange(lately time.Duration) (left <-chan struct{}, rest time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.calls == 0 {
		return nil, lately - time.Since(u.active)
	}
	if u.left == nil {
		u.left = make(chan struct{})
	}
	return u.left, time.Hour
}
