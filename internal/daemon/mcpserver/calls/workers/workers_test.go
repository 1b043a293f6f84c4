package workers_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"callgate/internal/daemon/mcpserver/calls/workers"
)

// TestEachBeginsAtOnce tests that every function begins, though none of them ends before all have begun: none waits for a
// goroutine.
func TestEachBeginsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 100
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel() // the goroutines of the pool end, as the bubble must
		p := workers.New(ctx)
		for range 3 { // the second and third time some goroutines are there
			var begun, ended atomic.Int32
			leave := make(chan struct{})
			for range n {
				p.Go(func() {
					begun.Add(1)
					<-leave
					ended.Add(1)
				})
			}
			synctest.Wait()
			if got := begun.Load(); got != n {
				t.Errorf("%d of %d functions began", got, n)
			}
			close(leave)
			synctest.Wait()
			if got := ended.Load(); got != n {
				t.Errorf("%d of %d functions ended", got, n)
			}
		}
	})
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
