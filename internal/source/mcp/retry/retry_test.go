package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/source/mcp/retry"
)

// waited asks the breaker and tells how long that took.
func waited(t *testing.T, b *retry.Breaker) (time.Duration, bool) {
	t.Helper()
	before := time.Now()
	ok, err := b.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(before), ok
}

func TestBackoffDoubles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b retry.Breaker
		if d, ok := waited(t, &b); d != 0 || !ok {
			t.Errorf("a fresh breaker waited %v, %v", d, ok)
		}
		for _, want := range []time.Duration{100, 200, 400, 800} {
			b.Failed()
			if d, ok := waited(t, &b); d != want*time.Millisecond || !ok {
				t.Errorf("after %d failures it waited %v, %v; want %v", b.State().Failures, d, ok, want*time.Millisecond)
			}
		}
	})
}

func TestBreakerOpensAndLetsOneTryThrough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b retry.Breaker
		for range 5 {
			b.Failed()
		}
		opened := time.Now()
		if d, ok := waited(t, &b); d != 0 || ok {
			t.Errorf("an open breaker answered %v after %v; want no, at once", ok, d)
		}
		if s := b.State(); !s.Open || !s.Next.Equal(opened.Add(30*time.Second)) || s.Failures != 5 {
			t.Errorf("state %+v", s)
		}
		<-time.After(30 * time.Second)
		if _, ok := waited(t, &b); !ok {
			t.Error("after its pause the breaker let no try through")
		}
		b.Failed()
		if _, ok := waited(t, &b); ok {
			t.Error("a failed try did not open the breaker again")
		}
		<-time.After(30 * time.Second)
		b.Succeeded()
		if s := b.State(); s != (retry.State{}) {
			t.Errorf("after a success: %+v", s)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b retry.Breaker
		b.Failed()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if ok, err := b.Wait(ctx); ok || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v", ok, err)
		}
	})
}
