package provider_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/internal/provider"
	"callgate/llm"
)

func TestCost(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect) {
		s := serve(t, stream(d.events(d.hello...)))
		var seen llm.Usage
		res, err := d.once(t, s).Generate(t.Context(), ask, func(x llm.Delta) {
			if x.Usage != nil {
				seen = *x.Usage
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		want := int64(10*2.5 + 2*10) // gpt-4o
		if d.name == "anthropic" {
			want = 10*3 + 2*15
		}
		if res.Usage.Cost != want || !res.Usage.Priced || seen != res.Usage {
			t.Errorf("usage %+v, seen %+v; want a cost of %d", res.Usage, seen, want)
		}
	})
}

// busy is a server that holds every request until release is closed, and counts them.
type busy struct {
	now, max atomic.Int32
	arrived  chan struct{}
	release  chan struct{}
}

func (b *busy) handler(events string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		n := b.now.Add(1)
		for m := b.max.Load(); n > m && !b.max.CompareAndSwap(m, n); m = b.max.Load() {
		}
		b.arrived <- struct{}{}
		<-b.release
		b.now.Add(-1)
		_, _ = io.WriteString(w, events)
	}
}

// A model says how many requests run at once, before its pool; eight unless somebody does.
func TestModelSaysHowManyAtOnce(t *testing.T) {
	t.Parallel()
	d := dialects[0]
	for _, test := range []struct{ pool, model, want int }{{0, 0, 8}, {3, 0, 3}, {3, 5, 5}, {0, 1, 1}} {
		b := &busy{arrived: make(chan struct{}, 100), release: make(chan struct{})}
		s := serve(t, b.handler(d.events(d.hello...)))
		pool := &provider.Pool{MaxConcurrent: test.pool}
		var all sync.WaitGroup
		for range 12 {
			m, _, err := pool.Open(provider.Config{
				Provider: "openai", Model: "gpt-4o", Key: "k", BaseURL: s.URL + "/v1", Env: env(), MaxConcurrent: test.model,
			})
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				if _, err := m.Generate(context.Background(), ask, nil); err != nil {
					t.Error(err)
				}
			})
		}
		for range test.want {
			<-b.arrived
		}
		close(b.release)
		all.Wait()
		if most := int(b.max.Load()); most != test.want {
			t.Errorf("%+v: %d at once", test, most)
		}
		pool.Close()
	}
}

func TestMaxConcurrent(t *testing.T) {
	t.Parallel()
	d := dialects[0]
	b := &busy{arrived: make(chan struct{}, 100), release: make(chan struct{})}
	s := serve(t, b.handler(d.events(d.hello...)))
	pool := &provider.Pool{MaxConcurrent: 3}
	defer pool.Close()
	open := func(model, key string) llm.Model {
		m, _, err := pool.Open(provider.Config{
			Provider: "openai", Model: model, Key: key, BaseURL: s.URL + "/v1", Env: env(),
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	var all sync.WaitGroup
	var failed atomic.Int32
	run := func(m llm.Model) {
		all.Go(func() {
			if _, err := m.Generate(context.Background(), ask, nil); err != nil {
				failed.Add(1)
			}
		})
	}
	for range 10 { // each opens the model again, and all share one client
		run(open("gpt-4o", "key-one"))
	}
	for range 3 {
		<-b.arrived
	}
	// All slots are taken: a request that waits for one gives up when its context ends.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := open("gpt-4o", "key-one").Generate(ctx, ask, nil)
	if e := asError(t, err); e.Kind != llm.Cancelled {
		t.Errorf("error %+v, want cancelled", e)
	}
	// Another key has a client of its own, and so has another model.
	run(open("gpt-4o", "key-two"))
	<-b.arrived
	run(open("gpt-4o-mini", "key-one"))
	<-b.arrived
	close(b.release)
	for range 7 {
		<-b.arrived
	}
	all.Wait()
	if got := b.max.Load(); got != 5 || failed.Load() != 0 {
		t.Errorf("%d at once and %d failures, want 3 on one client and 1 on each of two others, and none", got, failed.Load())
	}
}
