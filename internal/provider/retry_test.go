package provider_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/provider"
	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

// flaky fails with each of its errors in turn, and then answers. It records when it was asked.
type flaky struct {
	errs  []error
	show  bool // shows a text before each failure
	asked []time.Time
}

func (f *flaky) Generate(_ context.Context, _ llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	f.asked = append(f.asked, time.Now())
	if f.show {
		watch(llm.Delta{Kind: llm.DeltaText, Text: "He"})
	}
	if n := len(f.asked); n <= len(f.errs) {
		return nil, f.errs[n-1]
	}
	return &llm.Response{Stop: llm.StopEnd}, nil
}

// waits returns the times between the requests.
func (f *flaky) waits() []time.Duration {
	var waits []time.Duration
	for i := 1; i < len(f.asked); i++ {
		waits = append(waits, f.asked[i].Sub(f.asked[i-1]))
	}
	return waits
}

func of(k llm.Kind) error { return &llm.Error{Kind: k, Provider: "p", Message: "words"} }

func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{errs: []error{
			of(llm.Overloaded), of(llm.Unavailable), of(llm.RateLimited), of(llm.BrokenStream), of(llm.Overloaded),
		}}
		r := provider.Retry{Attempts: 6, Base: time.Second, MaxDelay: 5 * time.Second}
		if _, err := r.Wrap(f).Generate(t.Context(), ask, nil); err != nil {
			t.Fatal(err)
		}
		for i, limit := range []time.Duration{1, 2, 4, 5, 5} {
			if got := f.waits()[i]; got < limit*time.Second/2 || got > limit*time.Second {
				t.Errorf("wait %d is %v, want between half of %ds and all of it", i+1, got, limit)
			}
		}
	})
}

func TestRetryAfterIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{errs: []error{&llm.Error{Kind: llm.RateLimited, RetryAfter: 20 * time.Second}}}
		if _, err := (provider.Retry{}).Wrap(f).Generate(t.Context(), ask, nil); err != nil {
			t.Fatal(err)
		}
		if got := f.waits()[0]; got < 20*time.Second || got > 22*time.Second+time.Nanosecond {
			t.Errorf("waited %v, want 20s and a little", got)
		}
	})
}

func TestNotRetried(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		err   error
		show  bool
		limit time.Duration // of the context
		asked int
	}{
		{name: "an overflow", err: of(llm.ContextOverflow), asked: 1},
		{name: "a wrong key", err: of(llm.Auth), asked: 1},
		{name: "no credit", err: of(llm.Billing), asked: 1},
		{name: "a bad request", err: of(llm.BadRequest), asked: 1},
		{name: "a refusal", err: of(llm.Refused), asked: 1},
		{name: "a failed generation", err: of(llm.FailedGeneration), asked: 1},
		{name: "a timeout", err: of(llm.Timeout), asked: 1},
		{name: "a cancelled one", err: of(llm.Cancelled), asked: 1},
		{name: "an error of another sort", err: errors.New("odd"), asked: 1},
		{name: "a wait beyond the patience", err: &llm.Error{Kind: llm.RateLimited, RetryAfter: 11 * time.Minute}, asked: 1},
		{name: "a wait beyond the deadline", err: &llm.Error{Kind: llm.RateLimited, RetryAfter: 20 * time.Second}, limit: 10 * time.Second, asked: 1},
		{name: "a server that cannot be reached", err: of(llm.Unavailable), asked: 4},
		{name: "a response that breaks off again and again", err: of(llm.BrokenStream), show: true, asked: 4},
		{name: "a server that falls silent", err: &llm.Error{Kind: llm.Timeout, Err: apiclient.ErrIdle}, asked: 2},
		{name: "a response that is too long", err: &llm.Error{Kind: llm.BrokenStream, Err: apiclient.ErrTooLong}, asked: 1},
		{name: "a response that broke off for good", show: true,
			err: &llm.Error{Kind: llm.BrokenStream, Err: of(llm.Billing)}, asked: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tc.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.limit)
					defer cancel()
				}
				f := &flaky{errs: slices.Repeat([]error{tc.err}, 1000), show: tc.show}
				begun := time.Now()
				_, err := (provider.Retry{}).Wrap(f).Generate(ctx, ask, nil)
				if !errors.Is(err, tc.err) || len(f.asked) != tc.asked {
					t.Errorf("%d requests, error %v; want %d, and the error unchanged", len(f.asked), err, tc.asked)
				}
				if tc.asked == 1 && time.Since(begun) != 0 {
					t.Errorf("waited %v without a retry", time.Since(begun))
				}
			})
		})
	}
}

func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &flaky{errs: []error{
			&llm.Error{Kind: llm.RateLimited, Provider: "p", RetryAfter: 30 * time.Second, Message: "slow down"},
		}}
		time.AfterFunc(7*time.Second, cancel)
		begun := time.Now()
		_, err := (provider.Retry{}).Wrap(f).Generate(ctx, ask, nil)
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.Cancelled || !errors.Is(err, context.Canceled) ||
			!strings.Contains(e.Message, "slow down") {
			t.Errorf("error %v, want cancelled, with the reason for the wait", err)
		}
		if got := time.Since(begun); got != 7*time.Second {
			t.Errorf("it took %v to notice, want 7s", got)
		}
	})
}

// TestRetryOverHTTP has a server fail twice and then answer.
func TestRetryOverHTTP(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect) {
		s := serve(t,
			fail(429, `{"error":{"type":"rate_limit_error","message":"slow down"}}`, "Retry-After-Ms", "1"),
			fail(529, `{"error":{"type":"overloaded_error","message":"busy"}}`),
			stream(d.events(d.hello...)))
		res, _, err := generate(t.Context(), d.with(t, s, provider.Config{Retry: quick}))
		if err != nil || res.Message.Text() != "Hello there" || s.requests() != 3 {
			t.Errorf("response %+v, %v, %d requests", res, err, s.requests())
		}
		if string(s.bodies[0]) != string(s.bodies[2]) {
			t.Error("the repeated request differs")
		}
	})
}

// A provider that limits the rate is waited for as it asks, again and again, within the patience; each wait is
// shown before it begins.
func TestRateLimitsAreWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := &llm.Error{Kind: llm.RateLimited, Provider: "p", Message: "slow down", RetryAfter: 32 * time.Second}
		f := &flaky{errs: slices.Repeat([]error{limit}, 8)}
		var waits []llm.Retry
		begun := time.Now()
		_, err := (provider.Retry{}).Wrap(f).Generate(t.Context(), ask, func(d llm.Delta) {
			if d.Kind == llm.DeltaRetry {
				waits = append(waits, *d.Retry)
				if left := time.Until(d.Retry.At); left < 32*time.Second || left > 34*time.Second {
					t.Errorf("it is said to wait %v", left)
				}
			}
		})
		if err != nil || len(f.asked) != 9 || time.Since(begun) < 8*32*time.Second {
			t.Errorf("%v after %v and %d requests", err, time.Since(begun), len(f.asked))
		}
		if len(waits) != 8 || waits[0].Attempt != 2 || waits[7].Attempt != 9 || waits[0].Replaces ||
			waits[0].Why != "rate limited: slow down" {
			t.Errorf("shown %+v", waits)
		}
	})
}

// The patience is one for all waits of a request, and can be set.
func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		patience, after, most time.Duration
	}{
		{0, 3 * time.Minute, 10 * time.Minute},
		{0, 0, 10 * time.Minute}, // an overload that says nothing
		{time.Hour, 20 * time.Minute, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			busy := &llm.Error{Kind: llm.Overloaded, RetryAfter: tc.after}
			f := &flaky{errs: slices.Repeat([]error{busy}, 1000)}
			begun := time.Now()
			_, err := provider.Retry{Patience: tc.patience}.Wrap(f).Generate(t.Context(), ask, nil)
			if took := time.Since(begun); !errors.Is(err, busy) || took > tc.most || took < tc.most/2 {
				t.Errorf("%+v: %v after %v", tc, err, took)
			}
		})
	}
}
