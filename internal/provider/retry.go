package provider

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"callgate/internal/provider/apiclient"
	"callgate/internal/provider/queue"
	"callgate/llm"
	"callgate/tool"
)

// Retry repeats a request when a provider fails in a transient way: it limits the rate, is overloaded, cannot
// be reached, or breaks the stream. The zero value is ready to use.
//
// # Law
//
// A provider that limits the rate or is overloaded is waited for, as long as it asks for, or ever longer where it
// does not say, until Patience is used up; a wait beyond that, or beyond what the context lasts, is not begun:
// the request fails at once, and the error says how long the wait would have been. After another failure
// there are as many attempts as Attempts says. Every wait is shown to the watcher before it begins
// ([llm.DeltaRetry]), and ends at once with the context.
//
// A response that broke off is begun again, and the watcher is told that what it was shown counts no more. No
// call of it was made: calls are those of a whole response.
type Retry struct {
	Attempts int           // with the first one, after failures that are not waited for; 0: 4; 1: no retry at all
	Base     time.Duration // the first wait that we choose, doubled each time; 0: 500 ms
	MaxDelay time.Duration // bounds the waits that we choose; 0: 30 s
	Patience time.Duration // bounds the waits of one request together; 0: 10 min

	priority llm.Priority // of requests that say none
}

// defaultPatience is enough for the limit of a minute to pass several times, and for an overload to end.
const defaultPatience = 10 * time.Minute

// Wrap returns a model that retries the requests to m.
func (r Retry) Wrap(m llm.Model) llm.Model {
	if r.Attempts <= 0 {
		r.Attempts = 4
	}
	r.Base = cmp.Or(max(0, r.Base), 500*time.Millisecond)
	r.MaxDelay = cmp.Or(max(0, r.MaxDelay), 30*time.Second)
	r.Patience = cmp.Or(max(0, r.Patience), defaultPatience)
	return &retrying{r, m}
}

type retrying struct {
	Retry
	inner llm.Model
}

// Generate asks until there is a response, or a failure that is not transient.
func (r *retrying) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	var waited time.Duration
	for attempt, failures := 1, 0; ; attempt++ {
		shown := false
		res, err := r.inner.Generate(ctx, req, func(d llm.Delta) {
			shown = true
			if watch != nil {
				watch(d)
			}
		})
		cause := causeOf(err)
		if err == nil || cause == nil || r.Attempts == 1 || isRefusal(cause) {
			return res, err
		}
		if !isWaitedFor(cause.Kind) {
			if failures += weight(cause); failures >= r.Attempts || !isTransient(cause) {
				return res, err
			}
		}
		wait := r.wait(attempt, cause.RetryAfter)
		deadline, limited := ctx.Deadline()
		if waited += wait; waited > r.Patience || limited && time.Until(deadline) <= wait {
			return res, err
		}
		if watch != nil {
			watch(llm.Delta{Kind: llm.DeltaRetry, Retry: &llm.Retry{
				Attempt: attempt + 1, At: time.Now().Add(wait), Kind: cause.Kind, Why: reason(cause), Replaces: shown,
			}})
		}
		if stopped := sleepFor(ctx, wait, cause); stopped != nil {
			return nil, stopped
		}
		if attempt == 1 {
			req.Priority = moreUrgent(cmp.Or(req.Priority, r.priority))
		}
	}
}

// causeOf returns the failure of a request; of a response that an error of the provider broke off, that error.
func causeOf(err error) *llm.Error {
	var failure, inner *llm.Error
	if !errors.As(err, &failure) {
		return nil
	}
	if failure.Kind == llm.BrokenStream && errors.As(failure.Err, &inner) {
		return inner
	}
	return failure
}

// isWaitedFor reports whether a failure ends when one waits: the provider works.
func isWaitedFor(k llm.Kind) bool { return k == llm.RateLimited || k == llm.Overloaded }

// isTransient reports whether a failure may go away. A response that is too long would be so again, and a
// server that fell silent is asked again like one that broke off.
func isTransient(e *llm.Error) bool {
	switch e.Kind {
	case llm.Unavailable, llm.BrokenStream:
		return !errors.Is(e.Err, apiclient.ErrTooLong)
	case llm.Timeout:
		return errors.Is(e.Err, apiclient.ErrIdle)
	}
	return isWaitedFor(e.Kind)
}

// weight is what a failure counts among the attempts. To learn that a server fell silent takes minutes.
func weight(e *llm.Error) int {
	if errors.Is(e.Err, apiclient.ErrIdle) {
		return 2
	}
	return 1
}

// reason says in a few words why a request failed.
func reason(e *llm.Error) string {
	text := strings.ReplaceAll(string(e.Kind), "_", " ")
	if e.Message == "" {
		return text
	}
	return text + ": " + tool.TruncateTo(strings.Join(strings.Fields(e.Message), " "), 200)
}

// wait returns how long to wait after an attempt. A random part keeps requests that failed together from
// coming back together.
func (r *retrying) wait(attempt int, retryAfter time.Duration) time.Duration {
	if retryAfter > 0 {
		return retryAfter + rand.N(min(retryAfter/10, time.Second)+1)
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

// contextError is the error of a context that has ended while its request waited to be sent.
func contextError(ctx context.Context, provider, message string) *llm.Error {
	e := &llm.Error{Kind: llm.Cancelled, Provider: provider, Message: message, Err: &queue.NotSent{Err: ctx.Err()}}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind = llm.Timeout
	}
	return e
}
