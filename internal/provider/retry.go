package provider

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"callgate/llm"
)

// Retry repeats a request when a provider fails in a transient way: it limits the rate, is overloaded, cannot
// be reached, or breaks the stream before its first text. The zero value makes four attempts.
//
// A response of which anything was shown is never begun again: the watcher would see it twice, and in two
// versions. A wait that the provider asks for is kept in full. If it is longer than MaxRetryAfter, or than the
// context lasts, the request fails at once, and the error says how long the wait would have been.
type Retry struct {
	Attempts      int           // with the first one; 0: 4; 1: no retry
	Base          time.Duration // the first wait, doubled each time; 0: 500 ms
	MaxDelay      time.Duration // bounds the waits that we choose; 0: 30 s
	MaxRetryAfter time.Duration // bounds the waits that the provider asks for; 0: 1 min
}

// Wrap returns a model that retries the requests to m.
func (r Retry) Wrap(m llm.Model) llm.Model {
	if r.Attempts <= 0 {
		r.Attempts = 4
	}
	r.Base = cmp.Or(max(0, r.Base), 500*time.Millisecond)
	r.MaxDelay = cmp.Or(max(0, r.MaxDelay), 30*time.Second)
	r.MaxRetryAfter = cmp.Or(max(0, r.MaxRetryAfter), time.Minute)
	return &retrying{r, m}
}

type retrying struct {
	Retry
	inner llm.Model
}

// Generate asks until there is a response, or a failure that is not transient.
func (r *retrying) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	for attempt := 1; ; attempt++ {
		shown := false
		res, err := r.inner.Generate(ctx, req, func(d llm.Delta) {
			shown = true
			if watch != nil {
				watch(d)
			}
		})
		var failure *llm.Error
		if err == nil || shown || attempt >= r.Attempts || !errors.As(err, &failure) || !isTransient(failure.Kind) {
			return res, err
		}
		wait := r.wait(attempt, failure.RetryAfter)
		deadline, limited := ctx.Deadline()
		if failure.RetryAfter > r.MaxRetryAfter || limited && time.Until(deadline) <= wait {
			return res, err
		}
		if stopped := sleepFor(ctx, wait, failure); stopped != nil {
			return nil, stopped
		}
	}
}

// isTransient reports whether a failure goes away with time.
func isTransient(k llm.Kind) bool {
	switch k {
	case llm.RateLimited, llm.Overloaded, llm.Unavailable, llm.BrokenStream:
		return true
	}
	return false
}

// wait returns how long to wait after an attempt. A random part keeps requests that failed together from
// coming back together.
func (r *retrying) wait(attempt int, retryAfter time.Duration) time.Duration {
	if retryAfter > 0 {
		return retryAfter + rand.N(retryAfter/10+1)
	}
	d := r.Base
	for range attempt - 1 {
		d = min(2*d, r.MaxDelay)
	}
	d = min(d, r.MaxDelay)
	return d/2 + rand.N(d/2+1)
}

// sleepFor waits after a failure. It returns an error if the context ends first.
func sleepFor(ctx context.Context, d time.Duration, after *llm.Error) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return contextError(ctx, after.Provider, "while waiting to retry after: "+after.Message)
	}
}

// contextError is the error of a context that has ended.
func contextError(ctx context.Context, provider, message string) *llm.Error {
	e := &llm.Error{Kind: llm.Cancelled, Provider: provider, Message: message, Err: ctx.Err()}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind = llm.Timeout
	}
	return e
}
