package connpool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"callgate/internal/module/database/connpool"
	"callgate/internal/module/database/engine"
	"callgate/tool"
)

// fakeEngine is an engine that is only closed.
type fakeEngine struct {
	engine.Engine
	using  sync.WaitGroup // calls that Close waits for
	mu     sync.Mutex
	closed int
	err    error
}

func (f *fakeEngine) Close() error {
	f.using.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	return f.err
}

func (f *fakeEngine) closings() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

func add(t *testing.T, p *connpool.Pool, session, id string) *fakeEngine {
	t.Helper()
	e := &fakeEngine{}
	if _, err := p.Add(session, &connpool.Conn{ID: id, Engine: e}, 8); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAddAndFind(t *testing.T) {
	p := connpool.New()
	first := add(t, p, "s1", "main")
	add(t, p, "s1", "shop")
	if c, err := p.Find("s1", "main"); err != nil || c.Engine != first {
		t.Errorf("%+v, %v", c, err)
	}
	second := &fakeEngine{}
	replaced, err := p.Add("s1", &connpool.Conn{ID: "main", Engine: second}, 2)
	if !replaced || err != nil || first.closings() != 1 {
		t.Errorf("replaced %v, %v; closed %d times", replaced, err, first.closings())
	}
	third := &fakeEngine{}
	_, err = p.Add("s1", &connpool.Conn{ID: "third", Engine: third}, 2)
	if tool.KindOf(err) != tool.Limited || !strings.Contains(err.Error(), "2 connections already: main, shop") ||
		third.closings() != 1 {
		t.Errorf("%v; closed %d times", err, third.closings())
	}
	_, err = p.Add("s2", &connpool.Conn{ID: "x", Engine: &fakeEngine{}}, 0)
	if tool.KindOf(err) != tool.Limited {
		t.Errorf("%v", err)
	}
	var ids []string
	for _, c := range p.List("s1") {
		ids = append(ids, c.ID)
	}
	if !slices.Equal(ids, []string{"main", "shop"}) || p.List("s2") != nil {
		t.Errorf("%v, %v", ids, p.List("s2"))
	}
}

func TestFindNothing(t *testing.T) {
	p := connpool.New()
	hint := func(session, id string) string {
		_, err := p.Find(session, id)
		var e *tool.Error
		if !errors.As(err, &e) || e.Kind != tool.NotFound {
			t.Errorf("%v", err)
			return ""
		}
		return e.Hint
	}
	if got := hint("s1", "main"); !strings.Contains(got, "none is open") {
		t.Error(got)
	}
	add(t, p, "s1", "main")
	if got := hint("s1", "mian"); !strings.Contains(got, "open are: main") {
		t.Error(got)
	}
	if got := hint("s2", "main"); !strings.Contains(got, "none is open") {
		t.Errorf("another session sees it: %s", got)
	}
}

func TestRemove(t *testing.T) {
	p := connpool.New()
	e := add(t, p, "s1", "main")
	e.err = errors.New("the disk is gone")
	if err := p.Remove("s1", "main"); !errors.Is(err, e.err) || e.closings() != 1 {
		t.Errorf("%v; closed %d times", err, e.closings())
	}
	if err := p.Remove("s1", "main"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("%v", err)
	}
}

// Closing a session cancels the calls that use its connections and waits for them.
func TestCloseSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connpool.New()
		e, other := add(t, p, "s1", "main"), add(t, p, "s2", "main")
		conn, err := p.Find("s1", "main")
		if err != nil {
			t.Fatal(err)
		}
		ctx, release := conn.Bind(t.Context())
		letGo := make(chan struct{})
		e.using.Add(1)
		go func() {
			<-ctx.Done()
			<-letGo
			e.using.Done()
		}()
		done := make(chan struct{})
		go func() { p.CloseSession("s1"); close(done) }()
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), connpool.ErrClosed) || e.closings() != 0 {
			t.Errorf("%v; closed %d times", context.Cause(ctx), e.closings())
		}
		close(letGo)
		<-done
		release()
		if e.closings() != 1 || other.closings() != 0 || p.List("s1") != nil {
			t.Errorf("closed %d times, the other session's %d times", e.closings(), other.closings())
		}
		p.CloseSession("s1") // nothing is left
	})
}

func TestBind(t *testing.T) {
	p := connpool.New()
	add(t, p, "s1", "main")
	conn, err := p.Find("s1", "main")
	if err != nil {
		t.Fatal(err)
	}
	parent, cancel := context.WithCancel(t.Context())
	ctx, release := conn.Bind(parent)
	cancel()
	if <-ctx.Done(); !errors.Is(context.Cause(ctx), context.Canceled) {
		t.Errorf("%v", context.Cause(ctx))
	}
	release()
	ctx, release = conn.Bind(t.Context())
	release()
	if ctx.Err() == nil {
		t.Error("a released context has not ended")
	}
}

func TestClose(t *testing.T) {
	p := connpool.New()
	broken := errors.New("broken")
	var all []*fakeEngine
	for i := range 6 {
		all = append(all, add(t, p, fmt.Sprint("s", i%2), fmt.Sprint("c", i)))
	}
	all[3].err = broken
	if err := p.Close(); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	for i, e := range all {
		if e.closings() != 1 {
			t.Errorf("connection %d was closed %d times", i, e.closings())
		}
	}
	late := &fakeEngine{}
	_, err := p.Add("s1", &connpool.Conn{ID: "main", Engine: late}, 8)
	if tool.KindOf(err) != tool.Unavailable || late.closings() != 1 {
		t.Errorf("%v; closed %d times", err, late.closings())
	}
}

// Each connection is closed exactly once, whoever comes first.
func TestManyCallers(t *testing.T) {
	p := connpool.New()
	var mu sync.Mutex
	var all []*fakeEngine
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				e := &fakeEngine{}
				mu.Lock()
				all = append(all, e)
				mu.Unlock()
				_, _ = p.Add("s", &connpool.Conn{ID: fmt.Sprint(i % 3), Engine: e}, 8)
				_ = p.Remove("s", fmt.Sprint((i+1)%3))
				p.List("s")
			}
		})
	}
	wg.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for i, e := range all {
		if e.closings() != 1 {
			t.Errorf("connection %d was closed %d times", i, e.closings())
		}
	}
}
