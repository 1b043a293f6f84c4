package workers_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"callgate/internal/daemon/mcpserver/calls/workers"
)

// TestEachBeginsAtOnce has many functions wait for each other: none waits for a goroutine.
func TestEachBeginsAtOnce(t *testing.T) {
	t.Parallel()
	const n = 100
	p := workers.New(t.Context())
	for range 3 { // the second and third time some goroutines are there
		var all, begun sync.WaitGroup
		begun.Add(n)
		for range n {
			all.Add(1)
			p.Go(func() {
				defer all.Done()
				begun.Done()
				begun.Wait()
			})
		}
		all.Wait()
	}
}

// TestEnd ends a pool: its goroutines end, and what comes after is run all the same.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := workers.New(ctx)
		ran := 0
		p.Go(func() { ran++ })
		synctest.Wait()
		cancel()
		synctest.Wait()
		p.Go(func() { ran++ })
		synctest.Wait() // a goroutine that stays would be found at the end of the bubble
		if ran != 2 {
			t.Errorf("%d of 2 were run", ran)
		}
	})
}
