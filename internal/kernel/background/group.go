// Package background runs work of the kernel that no session waits for. Law:
// nothing starts once the kernel closes, and the kernel does not close before
// everything that started has returned.
package background

import (
	"context"
	"sync"
)

// Group is the background work of one kernel. Make one with New.
type Group struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	closing bool
	running sync.WaitGroup
}

// New makes a group whose work ends when the group closes, not when ctx does.
func New(ctx context.Context) *Group {
	g := &Group{}
	g.ctx, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return g
}

// Context is done when the group closes.
func (g *Group) Context() context.Context { return g.ctx }

// Go runs f in the background, unless the group is closing. It reports whether
// f runs.
func (g *Group) Go(f func(context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing {
		return false
	}
	g.running.Go(func() { f(g.ctx) })
	return true
}

// Closing reports whether the group takes no more work.
func (g *Group) Closing() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closing
}

// Close cancels what runs and waits until it has returned.
func (g *Group) Close() {
	g.mu.Lock()
	g.closing = true
	g.mu.Unlock()
	g.cancel()
	g.running.Wait()
}
