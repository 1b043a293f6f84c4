package daemon

import (
	"context"
	"sync"
)

// clientCount counts clients, and lets somebody wait until there are none.
type clientCount struct {
	mu   sync.Mutex
	n    int64
	none chan struct{} // closed when there are none; nil: nobody waits
}

// Add adds to the count, and returns it.
func (c *clientCount) Add(delta int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n += delta; c.n == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
	return c.n
}

// Load returns the count.
func (c *clientCount) Load() int64 { return c.Add(0) }

// waitNone waits until there are none, or ctx ends.
func (c *clientCount) waitNone(ctx context.Context) {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return
	}
	if c.none == nil {
		c.none = make(chan struct{})
	}
	none := c.none
	c.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
}
