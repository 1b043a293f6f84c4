package fetch_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/internal/module/fetch"
	"callgate/tool"
)

type poolSettings struct{ name string }

// fakeClient counts how often it is closed.
type fakeClient struct {
	settings *poolSettings
	closed   atomic.Int32
}

func (c *fakeClient) CloseIdleConnections() { c.closed.Add(1) }

func newPool() *fetch.Pool[poolSettings, *fakeClient] {
	return fetch.NewPool("demo", &poolSettings{"default"},
		func(s *poolSettings) *fakeClient { return &fakeClient{settings: s} })
}

// acquire lends a client, and fails the test where that is refused.
func acquire(t *testing.T, p *fetch.Pool[poolSettings, *fakeClient], s *poolSettings, session string) (*fakeClient, func()) {
	t.Helper()
	c, release, err := p.Acquire(s, session)
	if err != nil {
		t.Fatal(err)
	}
	return c, release
}

func checkClosed(t *testing.T, what string, c *fakeClient, want int32) {
	t.Helper()
	if got := c.closed.Load(); got != want {
		t.Errorf("%s: closed %d times, want %d", what, got, want)
	}
}

func TestPoolLendsOneClientForEachSettings(t *testing.T) {
	t.Parallel()
	p := newPool()
	one, other := &poolSettings{"one"}, &poolSettings{"one"} // equal, but not the same
	a, releaseA := acquire(t, p, one, "s1")
	b, releaseB := acquire(t, p, one, "s2")
	c, releaseC := acquire(t, p, other, "s1")
	if a != b || a == c || a.settings != one || c.settings != other {
		t.Errorf("clients %p %p %p", a, b, c)
	}
	releaseA()
	releaseB()
	releaseC()
	checkClosed(t, "after release", a, 0)
}

func TestPoolEndsSessions(t *testing.T) {
	t.Parallel()
	p := newPool()
	s := &poolSettings{}
	c, release := acquire(t, p, s, "s1")
	release()
	_, releaseSecond := acquire(t, p, s, "s2")
	p.EndSession("s1")
	checkClosed(t, "another session uses it", c, 0)
	p.EndSession("s2")
	checkClosed(t, "a call uses it", c, 0)
	releaseSecond()
	checkClosed(t, "nobody uses it", c, 1)
	releaseSecond()
	checkClosed(t, "released twice", c, 1)
	if again, release := acquire(t, p, s, "s3"); again == c {
		t.Error("a closed client was lent")
	} else {
		release()
	}
}

func TestPoolEvictsTheClientUsedLongestAgo(t *testing.T) {
	t.Parallel()
	p := newPool()
	first, second := &poolSettings{"first"}, &poolSettings{"second"}
	a, releaseA := acquire(t, p, first, "s")
	b, releaseB := acquire(t, p, second, "s")
	releaseA()
	releaseB()
	_, release := acquire(t, p, first, "s") // now second is the oldest
	release()
	for i := range 63 {
		_, release := acquire(t, p, &poolSettings{fmt.Sprint(i)}, "s")
		release()
	}
	checkClosed(t, "used again", a, 0)
	checkClosed(t, "used longest ago", b, 1)
}

func TestPoolCloses(t *testing.T) {
	t.Parallel()
	p := newPool()
	idle, releaseIdle := acquire(t, p, &poolSettings{}, "s")
	releaseIdle()
	busy, release := acquire(t, p, &poolSettings{}, "s")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	checkClosed(t, "idle", idle, 1)
	checkClosed(t, "in use", busy, 0)
	release()
	checkClosed(t, "released", busy, 1)
	if _, _, err := p.Acquire(&poolSettings{}, "s"); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("after Close: %v", err)
	}
}

// Whatever happens at the same time, no client is closed while it is in use,
// and every client is closed in the end.
func TestPoolUnderLoad(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var made []*fakeClient
	p := fetch.NewPool("demo", &poolSettings{}, func(s *poolSettings) *fakeClient {
		c := &fakeClient{settings: s}
		mu.Lock()
		defer mu.Unlock()
		made = append(made, c)
		return c
	})
	all := make([]*poolSettings, 80) // more than the pool holds
	for i := range all {
		all[i] = &poolSettings{}
	}
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() {
			session := fmt.Sprint(w)
			for i := range 500 {
				c, release, err := p.Acquire(all[(i*7+w*13)%len(all)], session)
				if err != nil {
					t.Error(err)
					return
				}
				if c.closed.Load() > 0 {
					t.Error("a client in use is closed")
				}
				release()
				if i%50 == 0 {
					p.EndSession(session)
				}
			}
		})
	}
	workers.Wait()
	_ = p.Close()
	for _, c := range made {
		checkClosed(t, "in the end", c, 1)
	}
}
