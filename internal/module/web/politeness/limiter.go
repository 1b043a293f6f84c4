// Package politeness is how a guest behaves at a host: not too many at a time, not
// too often, and not where robots.txt asks to stay away.
package politeness

import (
	"context"
	"sync"
	"time"
)

// PerHost is how many requests a host has to answer at a time.
const PerHost = 2

// HostLimiter stand before the hosts. The zero value is ready. The law:
//
//   - No more than PerHost are inside of one gate, and whoever waits is let in
//     when one leaves, or gives up with its context.
//   - Between two that enter lies at least the delay that the later one asks
//     for, counted from when the earlier was let in. Nobody waits before the
//     first.
//   - A gate that nobody uses, and that would delay nobody, is forgotten.
type HostLimiter struct {
	mu    sync.Mutex
	hosts map[string]*hostState
}

type hostState struct {
	inside chan struct{}
	users  int       // inside or waiting
	last   time.Time // when somebody was last let in, or will be
}

// maxGates is how many gates are remembered for their delays alone.
const maxGates = 1000

// maxDelay is the longest anybody waits between two requests.
const maxDelay = time.Minute

// Acquire waits until there is room at a host. leave must be called; it may be
// called again.
func (g *HostLimiter) Acquire(ctx context.Context, host string, delay time.Duration) (leave func(), err error) {
	at := g.arrive(host)
	select {
	case at.inside <- struct{}{}:
	case <-ctx.Done():
		g.depart(host, at)
		return nil, ctx.Err()
	}
	leave = sync.OnceFunc(func() {
		<-at.inside
		g.depart(host, at)
	})
	if wait := g.turn(at, min(delay, maxDelay)); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			leave()
			return nil, ctx.Err()
		}
	}
	return leave, nil
}

func (g *HostLimiter) arrive(host string) *hostState {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hosts == nil {
		g.hosts = map[string]*hostState{}
	}
	at := g.hosts[host]
	if at == nil {
		at = &hostState{inside: make(chan struct{}, PerHost)}
		g.hosts[host] = at
	}
	at.users++
	return at
}

// turn reserves the next moment that lies a delay after the last one.
func (g *HostLimiter) turn(at *hostState, delay time.Duration) (wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if next := at.last.Add(delay); next.After(now) {
		at.last = next
		return next.Sub(now)
	}
	at.last = now
	return 0
}

func (g *HostLimiter) depart(host string, at *hostState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.users--; at.users == 0 && time.Since(at.last) > maxDelay {
		delete(g.hosts, host)
	}
	if len(g.hosts) <= maxGates {
		return
	}
	for name, other := range g.hosts {
		if other.users == 0 {
			delete(g.hosts, name)
		}
	}
}
