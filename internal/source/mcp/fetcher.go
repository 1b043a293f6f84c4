package mcp

import (
	"context"
	"sync"
	"time"

	"callgate/tool"
)

// The waits between background fetches that fail.
const (
	firstRefetch = 30 * time.Second // doubles with each failure
	lastRefetch  = 10 * time.Minute
)

// fetcher fetches the tools of a server that was never seen, in the background.
// A few servers are fetched at a time. A server that cannot be reached is tried
// again later, unless a human must do something first.
type fetcher struct {
	*identity
	ctx        context.Context // of the server
	slots      chan struct{}   // shared by all servers
	background func(func())
	fetch      func(context.Context) error
	known      func() bool // the tools are known meanwhile

	mu       sync.Mutex
	planned  bool // a fetch is planned or under way
	failures int
}

// fetchAfter plans a fetch, unless one is planned already.
func (f *fetcher) fetchAfter(delay time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.planned {
		return
	}
	f.planned = true
	f.background(func() {
		err := f.run(delay)
		again := err != nil && !f.known() && f.ctx.Err() == nil && tool.KindOf(err) != tool.Denied
		f.mu.Lock()
		f.planned = false
		wait := min(firstRefetch<<min(f.failures, 10), lastRefetch)
		f.failures++
		f.mu.Unlock()
		if again {
			f.fetchAfter(wait)
		}
	})
}

// run waits for the delay and for a slot, and fetches.
func (f *fetcher) run(delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.ctx.Done():
		return f.ctx.Err()
	}
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-f.ctx.Done():
		return f.ctx.Err()
	}
	err := f.fetch(f.ctx)
	if err != nil {
		f.warn("its tools could not be fetched", err)
	}
	return err
}
