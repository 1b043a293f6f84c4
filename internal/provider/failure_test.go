package provider_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"callgate/internal/provider"
	"callgate/llm"
)

// asError returns the *llm.Error in err, and checks that it does not hold the key.
func asError(t *testing.T, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want an *llm.Error", err, err)
	}
	if strings.Contains(err.Error(), secretKey) || e.Err != nil && strings.Contains(e.Err.Error(), secretKey) {
		t.Errorf("the key is in the error: %v", err)
	}
	return e
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		kind   llm.Kind
		wait   time.Duration
		status int
		says   string
	}{
		{"limit", fail(429, `{"error":{"type":"rate_limit_error","message":"slow down"}}`, "Retry-After", "3"), llm.RateLimited, 3 * time.Second, 429, "slow down"},
		{"overload", fail(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), llm.Overloaded, 0, 529, "Overloaded"},
		{"overflow", fail(400, `{"error":{"message":"prompt is too long: 3 tokens > 2 maximum"}}`), llm.ContextOverflow, 0, 400, "too long"},
		{"key", fail(401, `{"error":{"message":"wrong key `+secretKey+`"}}`), llm.Auth, 0, 401, "wrong key [key]"},
		{"not JSON", fail(500, `oops`), llm.Unavailable, 0, 500, "oops"},
		{"nothing", fail(500, ``), llm.Unavailable, 0, 500, "internal server error"},
		{"a page", fail(502, `<!doctype html><title>bad gateway</title>`, "Content-Type", "text/html"), llm.Unavailable, 0, 502, "web page"},
		{"a page with status 200", fail(200, `<!doctype html>`, "Content-Type", "text/html"), llm.BadRequest, 0, 404, "base URL"},
		{"a redirect", fail(302, ``, "Location", "http://127.0.0.1:1/"), llm.BadRequest, 0, 302, ""},
		{"an endless error", fail(500, strings.Repeat("x", 1<<20)), llm.Unavailable, 0, 500, "…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachDialect(t, func(t *testing.T, d dialect) {
				s := serve(t, tc.answer)
				res, seen, err := generate(t.Context(), d.once(t, s))
				e := asError(t, err)
				if res != nil || seen.kinds.Len() > 0 {
					t.Errorf("a response came with the error: %v, %s", res, seen.kinds.String())
				}
				if e.Kind != tc.kind || e.RetryAfter != tc.wait || e.Status != tc.status || e.Provider != d.provider ||
					!strings.Contains(e.Message, tc.says) {
					t.Errorf("error %+v, want %s, %v, %d, %q", e, tc.kind, tc.wait, tc.status, tc.says)
				}
				if s.requests() != 1 {
					t.Errorf("%d requests: only Retry may repeat one", s.requests())
				}
			})
		})
	}
}

const overloadedEvent = "event: error\n" +
	`data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n"

func TestStreamBrokenBeforeItsFirstText(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect) {
		for name, broken := range map[string]http.HandlerFunc{
			"cut off at once":            tear(""),
			"cut off after the opening":  tear(d.open(d.hello[0])),
			"an empty stream":            stream(""),
			"an end without a beginning": stream(d.open(d.hello[0])),
			"garbage":                    stream("event: message_start\ndata: {nonsense\n\n"),
			"an error inside":            stream(overloadedEvent),
		} {
			t.Run(name, func(t *testing.T) {
				s := serve(t, broken, stream(d.events(d.hello...)))
				res, seen, err := generate(t.Context(), d.with(t, s, provider.Config{Retry: quick}))
				if err != nil {
					t.Fatal(err)
				}
				if got := res.Message.Text(); got != "Hello there" || seen.text.String() != got || s.requests() != 2 {
					t.Errorf("response %q, seen %q, %d requests", got, seen.text.String(), s.requests())
				}
			})
		}
	})
}

// A response that broke off is begun again, and the watcher is told that what it saw is replaced.
func TestStreamBrokenAfterItsFirstText(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect) {
		begun := d.hello[:3] // up to and with "Hello"
		for name, broken := range map[string]http.HandlerFunc{
			"cut off":         tear(d.open(begun...)),
			"ended early":     stream(d.open(begun...)),
			"garbage":         stream(d.open(begun...) + "event: content_block_delta\ndata: ]]\n\n"),
			"an error inside": stream(d.open(begun...) + overloadedEvent),
			"an error chunk":  stream(d.open(begun...) + `data: {"error":{"message":"Overloaded","code":503}}` + "\n\n"),
		} {
			t.Run(name, func(t *testing.T) {
				s := serve(t, broken, stream(d.events(d.hello...)))
				res, seen, err := generate(t.Context(), d.with(t, s, provider.Config{Retry: quick}))
				if err != nil || res.Message.Text() != "Hello there" || s.requests() != 2 {
					t.Errorf("response %+v, %v after %d requests", res, err, s.requests())
				}
				if seen.text.String() != "Hello|Hello there" {
					t.Errorf("seen %q: the first words are not marked as replaced", seen.text.String())
				}
				s = serve(t, broken)
				res, _, err = generate(t.Context(), d.with(t, s, provider.Config{Retry: provider.Retry{Attempts: 1}}))
				e := asError(t, err)
				if e.Kind != llm.BrokenStream || res != nil || e.Partial == nil || e.Partial.Message.Text() != "Hello" {
					t.Errorf("error %+v, response %v; want a broken stream with its words", e, res)
				}
				if strings.Contains(name, "error") && !errors.As(e.Err, new(*llm.Error)) {
					t.Errorf("the cause is lost: %v", e.Err)
				}
			})
		}
	})
}

// endless answers with events, waits until the request is aborted, and reports that.
func endless(events string, aborted chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		aborted <- struct{}{}
	}
}

func TestCancelledInsideAStream(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect) {
		aborted := make(chan struct{}, 1)
		s := serve(t, endless(d.open(d.hello[:3]...), aborted))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m := d.with(t, s, provider.Config{Retry: quick})
		_, err := m.Generate(ctx, ask, func(x llm.Delta) {
			if x.Kind == llm.DeltaText {
				cancel()
			}
		})
		e := asError(t, err)
		if e.Kind != llm.Cancelled || !errors.Is(err, context.Canceled) {
			t.Errorf("error %+v, want cancelled", e)
		}
		if e.Partial == nil || e.Partial.Message.Text() != "Hello" {
			t.Errorf("partial response %+v", e.Partial)
		}
		<-aborted // the server saw the abort
		if s.requests() != 1 {
			t.Errorf("%d requests", s.requests())
		}
	})
}

func TestCancelledBeforeAStream(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect) {
		asked, aborted := make(chan struct{}), make(chan struct{}, 1)
		s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			close(asked)
			<-r.Context().Done()
			aborted <- struct{}{}
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		_, _, err := generate(ctx, d.with(t, s, provider.Config{Retry: quick}))
		if e := asError(t, err); e.Kind != llm.Cancelled || e.Partial != nil {
			t.Errorf("error %+v, want cancelled with nothing", e)
		}
		<-aborted
	})
}

func TestSlowFirstText(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect) {
		slow := make(chan struct{})
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 3 { // servers send comments while the model thinks
				_, _ = io.WriteString(w, ": still here\n\n")
				_ = http.NewResponseController(w).Flush()
			}
			<-slow
			_, _ = io.WriteString(w, d.events(d.hello...))
		})
		go close(slow)
		res, _, err := generate(t.Context(), d.once(t, s))
		if err != nil || res.Message.Text() != "Hello there" {
			t.Errorf("response %+v, %v", res, err)
		}
	})
}

func TestIdleTimeoutAndTimeout(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect) {
		for name, cfg := range map[string]provider.Config{
			"idle timeout": {IdleTimeout: 500 * time.Millisecond, Retry: provider.Retry{Attempts: 1}}, // enough for the pieces to arrive
			"timeout":      {Timeout: 500 * time.Millisecond},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				aborted := make(chan struct{}, 1)
				s := serve(t, endless(d.open(d.hello[:3]...), aborted))
				_, _, err := generate(t.Context(), d.with(t, s, cfg))
				e := asError(t, err)
				if e.Kind != llm.Timeout || e.Partial == nil {
					t.Errorf("error %+v, want a timeout with a partial response", e)
				}
				<-aborted
			})
		}
	})
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect) {
		s := serve(t, stream(""))
		s.Close()
		_, _, err := generate(t.Context(), d.with(t, s, provider.Config{Retry: quick}))
		if e := asError(t, err); e.Kind != llm.Unavailable || !strings.Contains(e.Message, "refused") {
			t.Errorf("error %+v, want a refused connection", e)
		}
	})
}
