// Package workers runs functions on goroutines that are used again. The stack of a call grows deep, and a new goroutine
// grows it anew for each.
//
// # Law
//
// A function is begun at once, whatever others do: on a goroutine that has nothing to do, or on a new one. A few
// goroutines wait for more; they end with the pool.
package workers

import (
	"context"
	"sync/atomic"
)

// maxIdle is how many goroutines wait for more to do.
const maxIdle = 16

// Pool runs functions. Make one with New.
type Pool struct {
	ended <-chan struct{}
	next  chan func()
	idle  atomic.Int32
}

// New makes a pool that ends with ctx.
func New(ctx context.Context) *Pool {
	return &Pool{ended: ctx.Done(), next: make(chan func())}
}

// Go runs a function, and does not wait for it. After the end of the pool it runs it too.
func (p *Pool) Go(f func()) {
	select {
	case p.next <- f:
	default:
		go p.work(f)
	}
}

func (p *Pool) work(f func()) {
	for {
		f()
		f = nil // what it holds is not kept while the goroutine waits
		if p.idle.Add(1) > maxIdle {
			p.idle.Add(-1)
			return
		}
		select {
		case f = <-p.next:
			p.idle.Add(-1)
		case <-p.ended:
			return
		}
	}
}
