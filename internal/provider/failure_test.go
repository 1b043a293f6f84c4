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

func fault(t *testing.T, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want one of a model", err, err)
	}
	if strings.Contains(err.Error(), secretKey) || e.Err != nil && strings.Contains(e.Err.Error(), secretKey) {
		t.Errorf("the key is in the error: %v", err)
	}
	return e
}

func TestFailures(t *testing.T) {
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
		{"no JSON", fail(500, `oops`), llm.Unavailable, 0, 500, "oops"},
		{"nothing", fail(500, ``), llm.Unavailable, 0, 500, "internal server error"},
		{"a page", fail(502, `<!doctype html><title>bad gateway</title>`, "Content-Type", "text/html"), llm.Unavailable, 0, 502, "web page"},
		{"a page in place of an answer", fail(200, `<!doctype html>`, "Content-Type", "text/html"), llm.BadRequest, 0, 404, "base URL"},
		{"elsewhere", fail(302, ``, "Location", "http://127.0.0.1:1/"), llm.BadRequest, 0, 302, ""},
		{"an endless error", fail(500, strings.Repeat("x", 1<<20)), llm.Unavailable, 0, 500, "…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachDialect(t, func(t *testing.T, d dialect) {
				s := serve(t, tc.answer)
				res, heard, err := generate(t.Context(), d.once(t, s))
				e := fault(t, err)
				if res != nil || heard.kinds.Len() > 0 {
					t.Errorf("an answer came with the error: %v, %s", res, heard.kinds.String())
				}
				if e.Kind != tc.kind || e.RetryAfter != tc.wait || e.Status != tc.status || e.Provider != d.provider || !strings.Contains(e.Message, tc.says) {
					t.Errorf("error %+v, want %s, %v, %d, %q", e, tc.kind, tc.wait, tc.status, tc.says)
				}
				if s.asked() != 1 {
					t.Errorf("the server was asked %d times: the SDK must not retry by itself", s.asked())
				}
			})
		})
	}
}

func TestBrokenBeforeTheFirstTokenIsAskedAgain(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialect) {
		for name, broken := range map[string]http.HandlerFunc{
			"cut off at once":            tear(""),
			"cut off after the opening":  tear(d.open(d.hello[0])),
			"an empty stream":            stream(""),
			"an end without a beginning": stream(d.open(d.hello[0])),
			"garbage":                    stream("event: message_start\ndata: {nonsense\n\n"),
			"an error inside":            stream("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"),
		} {
			t.Run(name, func(t *testing.T) {
				s := serve(t, broken, stream(d.events(d.hello...)))
				res, heard, err := generate(t.Context(), d.with(t, s, provider.Config{Retry: quick}))
				if err != nil {
					t.Fatal(err)
				}
				if got := res.Message.Text(); got != "Hello there" || heard.text.String() != got || s.asked() != 2 {
					t.Errorf("answer %q, heard %q, asked %d times", got, heard.text.String(), s.asked())
				}
			})
		}
	})
}

func TestBrokenAfterTheFirstTokenIsAnError(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialect) {
		begun := d.hello[:3] // up to and with "Hello"
		for name, broken := range map[string]http.HandlerFunc{
			"cut off":         tear(d.open(begun...)),
			"ended early":     stream(d.open(begun...)),
			"garbage":         stream(d.open(begun...) + "event: content_block_delta\ndata: ]]\n\n"),
			"an error inside": stream(d.open(begun...) + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"),
		} {
			t.Run(name, func(t *testing.T) {
				s := serve(t, broken, stream(d.events(d.hello...)))
				res, heard, err := generate(t.Context(), d.with(t, s, provider.Config{Retry: quick}))
				e := fault(t, err)
				if e.Kind != llm.BrokenStream || res != nil {
					t.Errorf("error %+v, answer %v; want a broken stream", e, res)
				}
				if e.Partial == nil || e.Partial.Message.Text() != "Hello" || heard.text.String() != "Hello" {
					t.Errorf("what came is %+v, heard %q", e.Partial, heard.text.String())
				}
				if s.asked() != 1 {
					t.Errorf("asked %d times: an answer that was shown is not begun again", s.asked())
				}
				if strings.Contains(name, "error") && !errors.As(e.Err, new(*llm.Error)) {
					t.Errorf("what broke it is lost: %v", e.Err)
				}
			})
		}
	})
}

// endless answers with events, then waits until the request is aborted, and says
// so.
func endless(events string, aborted chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		aborted <- struct{}{}
	}
}

func TestCancelledInTheMiddle(t *testing.T) {
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
		e := fault(t, err)
		if e.Kind != llm.Cancelled || !errors.Is(err, context.Canceled) {
			t.Errorf("error %+v, want cancelled", e)
		}
		if e.Partial == nil || e.Partial.Message.Text() != "Hello" {
			t.Errorf("what came is %+v", e.Partial)
		}
		<-aborted // the server saw the request go
		if s.asked() != 1 {
			t.Errorf("asked %d times", s.asked())
		}
	})
}

func TestCancelledBeforeTheFirstToken(t *testing.T) {
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
		if e := fault(t, err); e.Kind != llm.Cancelled || e.Partial != nil {
			t.Errorf("error %+v, want cancelled with nothing", e)
		}
		<-aborted
	})
}

func TestSlowFirstTokenIsWaitedFor(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialect) {
		slow := make(chan struct{})
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 3 { // what servers send while they think
				_, _ = io.WriteString(w, ": still here\n\n")
				_ = http.NewResponseController(w).Flush()
			}
			<-slow
			_, _ = io.WriteString(w, d.events(d.hello...))
		})
		go close(slow)
		res, _, err := generate(t.Context(), d.once(t, s))
		if err != nil || res.Message.Text() != "Hello there" {
			t.Errorf("answer %+v, %v", res, err)
		}
	})
}

func TestSilenceAndTimeout(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialect) {
		for name, cfg := range map[string]provider.Config{
			"silence": {IdleTimeout: 30 * time.Millisecond},
			"timeout": {Timeout: 30 * time.Millisecond},
		} {
			t.Run(name, func(t *testing.T) {
				aborted := make(chan struct{}, 1)
				s := serve(t, endless(d.open(d.hello[:3]...), aborted))
				_, _, err := generate(t.Context(), d.with(t, s, cfg))
				e := fault(t, err)
				if e.Kind != llm.Timeout || e.Partial == nil {
					t.Errorf("error %+v, want a timeout with what came", e)
				}
				<-aborted
			})
		}
	})
}

func TestNobodyThere(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialect) {
		s := serve(t, stream(""))
		s.Close()
		_, _, err := generate(t.Context(), d.with(t, s, provider.Config{Retry: quick}))
		if e := fault(t, err); e.Kind != llm.Unavailable || !strings.Contains(e.Message, "refused") {
			t.Errorf("error %+v, want that nobody is there", e)
		}
	})
}
