package provider_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/provider"
	"callgate/internal/provider/queue"
	"callgate/llm"
	"callgate/tool"
)

// network connects a pool's clients to a handler without a socket, so that a bubble's clock runs.
type network struct {
	http.Handler
	mu   sync.Mutex
	sent []string // "model after the start"
	from time.Time
}

func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	n.mu.Lock()
	n.sent = append(n.sent, req.Header.Get("X-Model")+" "+time.Since(n.from).Round(time.Second).String())
	n.mu.Unlock()
	w := httptest.NewRecorder()
	n.ServeHTTP(w, req)
	return w.Result(), nil
}

// open opens a model on a network.
func (n *network) open(t *testing.T, pool *provider.Pool, model, key string, turns provider.Turns, retry provider.Retry) llm.Model {
	t.Helper()
	m, _, err := pool.Open(provider.Config{
		Provider: "openai", Model: model, Key: key, Headers: map[string]string{"X-Model": model + "/" + key},
		BaseURL: "http://provider.test/v1", Env: env(), Turns: turns, Retry: retry,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// hello answers each request.
func hello(w http.ResponseWriter, _ *http.Request) {
	d := dialects[0]
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write([]byte(d.events(d.hello...)))
}

// first answers the first request with one handler and the others with another.
func first(one, rest http.HandlerFunc) http.HandlerFunc {
	var once sync.Once
	return func(w http.ResponseWriter, r *http.Request) {
		next := rest
		once.Do(func() { next = one })
		next(w, r)
	}
}

func limited(after string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", after)
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

func (n *network) want(t *testing.T, want ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.sent, want) {
		t.Errorf("sent %q, want %q", n.sent, want)
	}
}

var once = provider.Retry{Attempts: 1}

// TestRetryAfterIsOfTheKey has all models of a key wait when the provider limits one, and no other key.
func TestRetryAfterIsOfTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{Handler: first(limited("20"), hello), from: time.Now()}
		pool := provider.Pool{Transport: n}
		_, err := n.open(t, &pool, "a", "one", provider.Turns{}, once).Generate(t.Context(), ask, nil)
		if e := asError(t, err); e.Kind != llm.RateLimited || e.RetryAfter != 20*time.Second {
			t.Fatalf("error %+v", e)
		}
		if _, err := n.open(t, &pool, "a", "two", provider.Turns{}, once).Generate(t.Context(), ask, nil); err != nil {
			t.Error(err)
		}
		if _, err := n.open(t, &pool, "b", "one", provider.Turns{}, once).Generate(t.Context(), ask, nil); err != nil {
			t.Error(err)
		}
		n.want(t, "a/one 0s", "a/two 0s", "b/one 20s")
	})
}

// TestRefusedAtOnce fails a request that has less time than the pause lasts, says how long it is, and does not
// retry it.
func TestRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{Handler: first(limited("20"), hello), from: time.Now()}
		pool := provider.Pool{Transport: n}
		_, _ = n.open(t, &pool, "a", "one", provider.Turns{}, once).Generate(t.Context(), ask, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := n.open(t, &pool, "a", "one", provider.Turns{}, provider.Retry{}).Generate(ctx, ask, nil)
		e := asError(t, err)
		if e.Kind != llm.RateLimited || e.RetryAfter != 20*time.Second || !strings.Contains(e.Message, "another 20s") {
			t.Errorf("error %+v", e)
		}
		impatient := provider.Retry{Patience: 5 * time.Second}
		_, err = n.open(t, &pool, "a", "one", provider.Turns{}, impatient).Generate(t.Context(), ask, nil)
		if e := asError(t, err); e.Kind != llm.RateLimited || tool.KindOf(err) != tool.Limited {
			t.Errorf("error %+v", e)
		}
		n.want(t, "a/one 0s")
	})
}

// TestCoolDown stops asking a provider that fails: requests fail at once, without a retry, until one probe.
func TestCoolDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
		n := &network{Handler: http.HandlerFunc(down), from: time.Now()}
		pool := provider.Pool{Transport: n}
		turns := provider.Turns{Bounds: queue.Bounds{CoolDownAfter: 2, CoolDown: time.Minute}}
		_, err := n.open(t, &pool, "a", "one", turns, provider.Retry{Attempts: 2}).Generate(t.Context(), ask, nil)
		if e := asError(t, err); e.Status != 500 {
			t.Fatalf("error %+v", e)
		}
		_, err = n.open(t, &pool, "b", "one", turns, provider.Retry{}).Generate(t.Context(), ask, nil)
		e, refusal := asError(t, err), (*queue.Refusal)(nil)
		if e.Kind != llm.Unavailable || e.RetryAfter <= 0 || !errors.As(e.Err, &refusal) || len(n.sent) != 2 {
			t.Errorf("error %+v after %q", e, n.sent)
		}
		<-time.After(time.Minute)
		n.Handler = http.HandlerFunc(hello)
		if _, err := n.open(t, &pool, "b", "one", turns, provider.Retry{}).Generate(t.Context(), ask, nil); err != nil {
			t.Error(err)
		}
	})
}

// TestTokensOfAKey counts the tokens of all models of a key, as the provider says what they were: the usage of
// each answer is twelve tokens, so the fourth finds too few left.
func TestTokensOfAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{Handler: http.HandlerFunc(hello), from: time.Now()}
		pool := provider.Pool{Transport: n}
		turns := provider.Turns{Key: []queue.Limits{{TPM: 30 + provider.EstimateTokens(ask)}}}
		for range 3 { // 12, 24, 36 tokens
			for _, model := range []string{"a", "b"} {
				if _, err := n.open(t, &pool, model, "one", turns, once).Generate(t.Context(), ask, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		n.want(t, "a/one 0s", "b/one 0s", "a/one 0s", "b/one 1m0s", "a/one 1m0s", "b/one 1m0s")
	})
}

// TestRetriedRequestGoesFirst sends a request that failed before those of its priority.
func TestRetriedRequestGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls int
		n := &network{from: time.Now(), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch calls++; calls {
			case 1:
				w.WriteHeader(http.StatusInternalServerError)
				return
			case 2:
				<-release
			}
			hello(w, r)
		})}
		pool := provider.Pool{Transport: n}
		turns := provider.Turns{Key: []queue.Limits{{MaxConcurrent: 1}}}
		var all sync.WaitGroup
		for _, model := range []string{"fails", "holds", "waits"} {
			m := n.open(t, &pool, model, "one", turns, provider.Retry{Base: time.Second})
			all.Go(func() {
				if _, err := m.Generate(t.Context(), ask, nil); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		<-time.After(10 * time.Second)
		close(release)
		all.Wait()
		n.want(t, "fails/one 0s", "holds/one 0s", "fails/one 10s", "waits/one 10s")
	})
}
