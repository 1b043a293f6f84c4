package background_test

import (
	"context"
	"testing"
	"testing/synctest"

	"callgate/internal/kernel/background"
)

// Close cancels what runs and returns after it has returned; nothing starts
// afterwards.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := background.New(t.Context())
		cancelled, release := make(chan struct{}), make(chan struct{})
		returned := false
		if !g.Go(func(ctx context.Context) {
			<-ctx.Done()
			close(cancelled)
			<-release
			returned = true
		}) {
			t.Fatal("an open group runs nothing")
		}
		if g.Closing() {
			t.Error("an open group is closing")
		}
		closed := make(chan struct{})
		go func() { g.Close(); close(closed) }()
		<-cancelled
		synctest.Wait()
		select {
		case <-closed:
			t.Error("closed while work runs")
		default:
		}
		if !g.Closing() || g.Context().Err() == nil {
			t.Error("a group that closes does not say so")
		}
		if g.Go(func(context.Context) { t.Error("it ran") }) {
			t.Error("work began while the group closes")
		}
		close(release)
		<-closed
		if !returned {
			t.Error("closed before the work had returned")
		}
	})
}

// The work of a group outlives the context that the group was made with.
func TestOutlivesItsMaker(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	g := background.New(ctx)
	cancel()
	done := make(chan error, 1)
	g.Go(func(ctx context.Context) { done <- ctx.Err() })
	if err := <-done; err != nil {
		t.Errorf("the work was cancelled with its maker: %v", err)
	}
	g.Close()
	g.Close() // twice is once
}
