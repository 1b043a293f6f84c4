package connector_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/source/mcp/connector"
	"callgate/tool"
)

// conn is a connection that takes a second to close.
type conn struct {
	connector.Usage
	n      int
	ctx    context.Context
	cancel context.CancelFunc
	once   sync.Once
	done   chan struct{}
}

func (c *conn) Context() context.Context { return c.ctx }
func (c *conn) Done() <-chan struct{}    { return c.done }

func (c *conn) Close() {
	c.once.Do(func() {
		c.cancel()
		time.AfterFunc(time.Second, func() { close(c.done) })
	})
}

func (c *conn) closed() bool { return c.ctx.Err() != nil }

// server can be connected to: that takes a second.
type server struct {
	*connector.Connector[*conn]
	inUse atomic.Bool

	mu        sync.Mutex
	err       error // of connecting
	dials     int
	connected []bool // whether each connection was not the first
}

func newServer(t *testing.T, idle time.Duration) *server {
	s := &server{}
	s.Connector = connector.New(t.Context(), connector.Options[*conn]{
		Server: "far", IdleStop: idle, Dial: s.dial,
		Connected: func(_ *conn, again bool) { s.connected = append(s.connected, again) },
		InUse:     s.inUse.Load,
		Gone:      func() {},
	})
	return s
}

func (s *server) dial(ctx context.Context) (*conn, error) {
	s.mu.Lock()
	s.dials++
	c := &conn{n: s.dials, done: make(chan struct{})}
	err := s.err
	s.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, err
}

func (s *server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// get gets the connection with a number.
func (s *server) get(t *testing.T, n int, wantFresh bool) *conn {
	t.Helper()
	c, fresh, err := s.Get(t.Context())
	if err != nil || c.n != n || fresh != wantFresh {
		t.Errorf("got %+v, fresh %v, %v; want number %d, fresh %v", c, fresh, err, n, wantFresh)
	}
	return c
}

func TestOneAttemptForEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 0)
		ctx, cancel := context.WithCancel(t.Context())
		cancelled := make(chan error)
		go func() {
			_, _, err := s.Get(ctx)
			cancelled <- err
		}()
		synctest.Wait()
		if !s.Status().Connecting {
			t.Error("no attempt is under way")
		}
		cancel()
		if err := <-cancelled; tool.KindOf(err) != tool.Cancelled {
			t.Errorf("error %v", err)
		}
		var wg sync.WaitGroup
		for range 5 { // these wait for the attempt of the one that was cancelled
			wg.Go(func() { s.Free(s.get(t, 1, false)) }) // it began before they came
		}
		wg.Wait()
		s.Free(s.get(t, 1, false))
		if s.dials != 1 || len(s.connected) != 1 || s.connected[0] {
			t.Errorf("dialed %d times, connected %v", s.dials, s.connected)
		}
		s.Stop()
	})
}

func TestRetiredConnectionsCloseAfterTheirLastCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 0)
		one := s.get(t, 1, true)
		s.get(t, 1, false) // a second call on it
		s.Retire(one)
		if s.Open() != nil || s.Status().Current != nil {
			t.Error("a retired connection is still the current one")
		}
		two := s.get(t, 2, true)
		s.Free(one)
		if one.closed() {
			t.Error("it was closed before its last call ended")
		}
		s.Free(one)
		if !one.closed() || two.closed() || s.Open() != two {
			t.Errorf("closed: the first %v, the second %v", one.closed(), two.closed())
		}
		s.Free(two)
		s.Retire(two)
		if !two.closed() {
			t.Error("an unused connection was not closed at once")
		}
		s.Stop()
	})
}

func TestEndedConnectionsAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 0)
		one := s.get(t, 1, true)
		s.Free(one)
		one.cancel() // it ends by itself
		if s.Open() != nil {
			t.Error("an ended connection is open")
		}
		s.Free(s.get(t, 2, true))
		s.Lost(one, errors.New("too late to matter"))
		if st := s.Status(); st.Last != nil || st.Current == nil {
			t.Errorf("status %+v", st)
		}
		two := s.Open()
		two.cancel()
		s.Lost(two, errors.New("it crashed"))
		if st := s.Status(); st.Last == nil || st.Last.Error() != "it crashed" || st.Current != nil {
			t.Errorf("status %+v", st)
		}
		if len(s.connected) != 2 || !s.connected[1] {
			t.Errorf("connected %v", s.connected)
		}
		s.Stop()
	})
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 0)
		s.fail(errors.New("it is broken"))
		for range 5 {
			if _, _, err := s.Get(t.Context()); err == nil || err.Error() != "it is broken" {
				t.Fatalf("error %v", err)
			}
		}
		for range 2 { // the error does not grow
			_, _, err := s.Get(t.Context())
			if tool.KindOf(err) != tool.Unavailable || strings.Count(err.Error(), "it is broken") != 1 ||
				!strings.Contains(err.Error(), "the MCP server far failed 5 times in a row") {
				t.Errorf("error %v", err)
			}
		}
		if st := s.Status(); !st.Breaker.Open || s.dials != 5 {
			t.Errorf("status %+v after %d dials", st, s.dials)
		}
		s.fail(nil)
		s.Reset()
		s.Free(s.get(t, 6, true))
		if st := s.Status(); st.Breaker.Open || st.Last != nil {
			t.Errorf("status %+v", st)
		}
		s.Stop()
	})
}

// However many calls end with a connection, that is one failure.
func TestFailuresAreCountedOncePerConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 0)
		c := s.get(t, 1, true)
		for range 9 {
			s.Failed(c)
		}
		if n := s.Status().Breaker.Failures; n != 1 {
			t.Errorf("%d failures", n)
		}
		s.Succeeded()
		if n := s.Status().Breaker.Failures; n != 0 {
			t.Errorf("%d failures", n)
		}
		s.Free(c)
		s.Stop()
	})
}

// A call that joins an attempt which is denied tries again itself: a human may
// have consented since the attempt began.
func TestConsentThatComesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 0)
		s.fail(tool.Errorf("test", tool.Denied, "nobody has agreed"))
		first := make(chan error)
		go func() {
			_, _, err := s.Get(t.Context())
			first <- err
		}()
		synctest.Wait()
		s.fail(nil)
		go func() { s.Free(s.get(t, 2, true)) }()
		if err := <-first; tool.KindOf(err) != tool.Denied {
			t.Errorf("error %v", err)
		}
		<-time.After(time.Minute)
		if st := s.Status(); st.Breaker.Failures != 0 || st.Current == nil {
			t.Errorf("status %+v", st)
		}
		s.Stop()
	})
}

func TestIdleStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, time.Minute)
		c := s.get(t, 1, true)
		s.Free(c)
		s.StopWhenIdle()
		for range 3 { // each use starts the time anew
			<-time.After(50 * time.Second)
			s.StopWhenIdle()
		}
		s.inUse.Store(true) // a subscription
		<-time.After(time.Hour)
		if c.closed() {
			t.Fatal("it was stopped while it was in use")
		}
		s.inUse.Store(false)
		<-time.After(time.Minute + time.Second)
		if !c.closed() || s.Open() != nil {
			t.Error("it was not stopped")
		}
		s.Free(s.get(t, 2, true))
		s.Stop()
	})
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, time.Minute)
		c := s.get(t, 1, true)
		s.Free(c)
		s.StopWhenIdle()
		s.Stop()
		select {
		case <-c.Done():
		default:
			t.Error("Stop did not wait for the connection")
		}
		if _, _, err := s.Get(t.Context()); tool.KindOf(err) != tool.Unavailable || !s.Status().Stopped {
			t.Errorf("after Stop: %v, %+v", err, s.Status())
		}

		busy := newServer(t, 0)
		failed := make(chan error, 1)
		go func() {
			_, _, err := busy.Get(t.Context())
			failed <- err
		}()
		synctest.Wait()
		busy.Stop() // ends the attempt, and waits for it
		if err := <-failed; err == nil || busy.Status().Breaker.Failures != 0 {
			t.Errorf("error %v, %+v", err, busy.Status())
		}
	})
}

// Drop waits for the connection's end, so that the next one does not meet it.
func TestDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 0)
		s.Drop()
		c := s.get(t, 1, true)
		s.Drop()
		select {
		case <-c.Done():
		default:
			t.Error("Drop did not wait")
		}
		s.Free(c) // the call that was cut off
		s.Free(s.get(t, 2, true))
		s.Stop()
	})
}
