// Package politeness limits the requests to each host, and obeys robots.txt.
package politeness

import (
	"context"
	"sync"
	"time"
)

// PerHost is how many requests a host gets at a time.
const PerHost = 2

// HostLimiter limits the requests to each host. The zero value is ready. The
// law:
//
//   - At most PerHost requests are admitted to a host at a time. A request that
//     waits is admitted when another one ends, or gives up with its context.
//   - Between two admissions lies at least the delay that the later one asks
//     for. The first request to a host does not wait.
//   - A host without requests is forgotten once it would delay nobody.
type HostLimiter struct {
	mu    sync.Mutex
	hosts map[string]*hostState
}

type hostState struct {
	slots chan struct{}
	users int       // requests that are admitted or waiting
	last  time.Time // when a request was last admitted, or will be
}

// maxHosts bounds the hosts that are remembered only for their delays.
const maxHosts = 1000

// maxDelay bounds the time between two requests.
const maxDelay = time.Minute

// Acquire waits until a request may be sent to a host. Release must be called
// when the request has ended; calling it again does nothing.
func (l *HostLimiter) Acquire(ctx context.Context, host string, delay time.Duration) (release func(), err error) {
	h := l.enter(host)
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		l.leave(host, h)
		return nil, ctx.Err()
	}
	release = sync.OnceFunc(func() {
		<-h.slots
		l.leave(host, h)
	})
	if wait := l.reserve(h, min(delay, maxDelay)); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			release()
			return nil, ctx.Err()
		}
	}
	return release, nil
}

// enter counts a request to a host.
func (l *HostLimiter) enter(host string) *hostState {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hosts == nil {
		l.hosts = map[string]*hostState{}
	}
	h := l.hosts[host]
	if h == nil {
		h = &hostState{slots: make(chan struct{}, PerHost)}
		l.hosts[host] = h
	}
	h.users++
	return h
}

// reserve takes the next time that lies a delay after the last one, and returns
// how long to wait for it.
func (l *HostLimiter) reserve(h *hostState, delay time.Duration) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if next := h.last.Add(delay); next.After(now) {
		h.last = next
		return next.Sub(now)
	}
	h.last = now
	return 0
}

// leave ends a request, and forgets hosts that are no longer needed.
func (l *HostLimiter) leave(host string, h *hostState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.users--; h.users == 0 && time.Since(h.last) > maxDelay {
		delete(l.hosts, host)
	}
	if len(l.hosts) <= maxHosts {
		return
	}
	for name, other := range l.hosts {
		if other.users == 0 {
			delete(l.hosts, name)
		}
	}
}
