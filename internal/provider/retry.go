package provider

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"callgate/llm"
)

// Retry asks again when a provider fails in a way that passes: it limits the
// rate, is overloaded, cannot be reached, or breaks the stream before its first
// word. The zero value asks four times in all.
//
// An answer of which anything was shown is never begun again: whoever watches
// would see it twice, and two different ones at that. A wait that the provider
// asks for is kept in full; one longer than MaxRetryAfter, or longer than the context
// lasts, is not begun, and the error says how long it would have been.
type Retry struct {
	Attempts      int           // in all; 0: 4; 1: no second one
	Base          time.Duration // of the first wait, doubled each time; 0: 500 ms
	MaxDelay      time.Duration // of a wait that we choose; 0: 30 s
	MaxRetryAfter time.Duration // of a wait that the provider asks for; 0: 1 min
}

// Wrap is m, asked again where that helps.
func (r Retry) Wrap(m llm.Model) llm.Model {
	or := func(d *time.Duration, otherwise time.Duration) {
		if *d <= 0 {
			*d = otherwise
		}
	}
	if r.Attempts <= 0 {
		r.Attempts = 4
	}
	or(&r.Base, 500*time.Millisecond)
	or(&r.MaxDelay, 30*time.Second)
	or(&r.MaxRetryAfter, time.Minute)
	return &retrying{r, m}
}

type retrying struct {
	Retry
	inner llm.Model
}

// Generate asks until there is an answer, or a failure that does not pass.
func (r *retrying) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	for attempt := 1; ; attempt++ {
		shown := false
		res, err := r.inner.Generate(ctx, req, func(d llm.Delta) {
			shown = true
			if watch != nil {
				watch(d)
			}
		})
		var fault *llm.Error
		if err == nil || shown || attempt >= r.Attempts || !errors.As(err, &fault) || !isTransient(fault.Kind) {
			return res, err
		}
		wait := r.wait(attempt, fault.RetryAfter)
		deadline, limited := ctx.Deadline()
		if fault.RetryAfter > r.MaxRetryAfter || limited && time.Until(deadline) <= wait {
			return res, err
		}
		if stopped := sleepFor(ctx, wait, fault); stopped != nil {
			return nil, stopped
		}
	}
}

// isTransient reports whether a failure is one that time mends.
func isTransient(k llm.Kind) bool {
	switch k {
	case llm.RateLimited, llm.Overloaded, llm.Unavailable, llm.BrokenStream:
		return true
	}
	return false
}

// wait is how long to wait after an attempt. Chance keeps askers that were
// refused together from coming back together.
func (r *retrying) wait(attempt int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked + rand.N(asked/10+1)
	}
	d := r.Base
	for range attempt - 1 {
		d = min(2*d, r.MaxDelay)
	}
	d = min(d, r.MaxDelay)
	return d/2 + rand.N(d/2+1)
}

// sleepFor waits. It returns an error when the context ends first.
func sleepFor(ctx context.Context, d time.Duration, after *llm.Error) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ended(ctx, after.Provider, "while waiting to ask again after: "+after.Message)
	}
}

// ended is the error of a context that is done.
func ended(ctx context.Context, provider, where string) *llm.Error {
	e := &llm.Error{Kind: llm.Cancelled, Provider: provider, Message: where, Err: ctx.Err()}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind = llm.Timeout
	}
	return e
}
