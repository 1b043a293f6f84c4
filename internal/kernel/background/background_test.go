package background_test

import (
	"context"
	"testing"
	"testing/synctest"

	"callgate/internal/kernel/background"
)

func TestCloseCancelsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, cancel := context.WithCancel(t.Context())
		g := background.New(outer)
		release := make(chan struct{})
		var cancelled, returned bool
		started := g.Go(func(ctx context.Context) {
			<-ctx.Done()
			cancelled = true
			<-release
			returned = true
		})
		if !started {
			t.Fatal("the work did not start")
		}
		cancel()
		synctest.Wait()
		if cancelled {
			t.Error("the work ended with the context that the group was made with")
		}
		closed := make(chan struct{})
		go func() {
			g.Close()
			close(closed)
		}()
		synctest.Wait()
		if !cancelled || returned || !g.Closing() || g.Context().Err() == nil {
			t.Errorf("closing: cancelled %v, returned %v, closing %v", cancelled, returned, g.Closing())
		}
		select {
		case <-closed:
			t.Error("Close returned before the work")
		default:
		}
		if g.Go(func(context.Context) { t.Error("work started in a closing group") }) {
			t.Error("a closing group takes work")
		}
		close(release)
		<-closed
		if !returned {
			t.Error("the work did not return")
		}
		g.Close() // a second time changes nothing
	})
}
