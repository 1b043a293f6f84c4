package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/tool"
)

// server is the database, as far as heartbeats go.
type server struct {
	away  atomic.Bool // it does not answer
	slow  atomic.Int64
	taken atomic.Bool // the epoch is another
	beats atomic.Int64
	last  atomic.Int64 // when the last heartbeat arrived that succeeded
}

func (s *server) beat(ctx context.Context) error {
	s.beats.Add(1)
	select {
	case <-time.After(time.Duration(s.slow.Load())):
	case <-ctx.Done():
		return ctx.Err()
	}
	switch {
	case s.away.Load():
		return errors.New("the server is away")
	case s.taken.Load():
		return fmt.Errorf("taken over: %w", errLost)
	}
	s.last.Store(time.Now().UnixNano())
	return nil
}

func guarded(t *testing.T, s *server) *Guard {
	t.Helper()
	s.last.Store(time.Now().UnixNano())
	g := newGuard(Timing{}, time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.keep(ctx, s.beat, func(error) {})
	}()
	t.Cleanup(func() { cancel(); <-done })
	return g
}

// act begins something, and returns why it was stopped, once it was.
func act(t *testing.T, g *Guard) (stopped <-chan error) {
	t.Helper()
	ctx, done, err := g.Act(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	why := make(chan error, 1)
	go func() {
		<-ctx.Done()
		why <- context.Cause(ctx)
		done()
	}()
	return why
}

// A node that cannot renew its lease stops before the lease can be given away, and goes on when it can.
func TestSuspended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		g := guarded(t, s)
		<-time.After(time.Minute)
		why := act(t, g)
		s.away.Store(true)
		began := time.Now()
		err := <-why
		lease := time.Unix(0, s.last.Load()).Add(g.timing.Lease)
		if !time.Now().Before(lease) || time.Since(began) > 12*time.Second {
			t.Errorf("it stopped after %v, %v before the lease was over", time.Since(began), time.Until(lease))
		}
		if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "has not reached the database") {
			t.Errorf("it was stopped for %v", err)
		}
		if _, _, err := g.Act(t.Context()); err == nil || g.Stopped() == nil {
			t.Error("something begins in a node that is suspended")
		}
		<-time.After(time.Hour)
		select {
		case <-g.Ended():
			t.Error("it ended, though nobody took it over")
		default:
		}
		s.away.Store(false)
		<-time.After(2 * time.Second)
		synctest.Wait()
		again := act(t, g)
		<-time.After(time.Minute)
		if g.Stopped() != nil || len(again) != 0 {
			t.Errorf("it does not go on: %v", g.Stopped())
		}
		g.end(errLost)
		<-again
	})
}

// How long a node did nothing is counted, also while it lasts, and so is each heartbeat.
func TestHeartbeatNumbers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.slow.Store(int64(40 * time.Millisecond))
		g := guarded(t, s)
		<-time.After(31 * time.Second)
		h := g.Heartbeats()
		if h.Took.Count != 10 || h.lastTook != 40*time.Millisecond || h.Last > 3*time.Second || h.Failed != 0 ||
			h.IsSuspended || h.Suspensions != 0 || h.LeaseLeft != 12*time.Second-h.Last {
			t.Errorf("it lives: %+v", h)
		}
		s.away.Store(true)
		<-time.After(time.Minute)
		h = g.Heartbeats()
		if !h.IsSuspended || h.Suspensions != 1 || h.Suspended < 47*time.Second || h.Suspended > 51*time.Second ||
			h.Failed < 40 || h.LeaseLeft > -47*time.Second {
			t.Errorf("it is suspended: %+v", h)
		}
		s.away.Store(false)
		<-time.After(10 * time.Second)
		h = g.Heartbeats()
		lasted := h.Suspended
		<-time.After(10 * time.Second)
		if h = g.Heartbeats(); h.IsSuspended || h.Suspensions != 1 || h.Suspended != lasted || lasted > 52*time.Second {
			t.Errorf("it goes on: %+v", h)
		}
	})
}

// A node whose epoch is another stops at once, and for good.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		g := guarded(t, s)
		why := act(t, g)
		s.taken.Store(true)
		if err := <-why; !errors.Is(err, errLost) {
			t.Errorf("it was stopped for %v", err)
		}
		<-g.Ended()
		n := s.beats.Load()
		s.taken.Store(false)
		<-time.After(time.Hour)
		g.renewed(time.Now())
		if g.Stopped() == nil || s.beats.Load() != n {
			t.Error("it goes on")
		}
	})
}

// A heartbeat counts from when it was sent: one whose answer comes late renews little, or nothing.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		g := guarded(t, s)
		s.slow.Store(int64(4900 * time.Millisecond)) // the answer comes just before it is given up
		for range 20 {
			<-time.After(3 * time.Second)
			if err := g.Stopped(); err != nil {
				t.Fatal(err)
			}
			if lease := time.Unix(0, s.last.Load()).Add(g.timing.Lease); time.Until(lease) < g.left() {
				t.Fatalf("it may act for %v, and its lease is over in %v", g.left(), time.Until(lease))
			}
		}
		g.renewed(time.Now().Add(-13 * time.Second))
		if g.Stopped() == nil {
			t.Error("an answer that is 13 s old lets it act")
		}
	})
}

// A machine that slept has not counted the time; the clock of the day has.
func TestSleptThrough(t *testing.T) {
	t.Parallel()
	g := newGuard(Timing{}, time.Now())
	why := act(t, g)
	g.since = func(time.Time) time.Duration { return time.Hour }
	if _, _, err := g.Act(t.Context()); err == nil {
		t.Error("something begins though the lease is long over")
	}
	<-why
	day := time.Now().Round(0).Add(-time.Hour) // without a reading of the clock that never goes back
	if got := elapsed(day); got < time.Hour {
		t.Errorf("%v have passed since an hour ago", got)
	}
}

// What ran when a machine fell asleep is stopped when it wakes, before a heartbeat could renew the lease: meanwhile it
// may have been another's.
func TestWakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.last.Store(time.Now().UnixNano())
		var slept atomic.Int64
		g := newGuard(Timing{}, time.Now())
		g.since = func(at time.Time) time.Duration { return time.Since(at) + time.Duration(slept.Load()) }
		why := act(t, g)
		ctx, cancel := context.WithCancel(t.Context())
		var stopped bool
		beat := func(ctx context.Context) error {
			g.mu.Lock()
			stopped = g.stopped != nil
			g.mu.Unlock()
			slept.Store(0)
			return s.beat(ctx)
		}
		done := make(chan struct{})
		go func() { defer close(done); g.keep(ctx, beat, func(error) {}) }()
		synctest.Wait()
		slept.Store(int64(time.Hour))
		<-time.After(g.timing.Every + time.Second)
		cancel()
		<-done
		if !stopped {
			t.Error("what ran goes on after the sleep, under a lease that was over")
			g.end(errLost)
		}
		<-why
	})
}

// A kernel that shares its storage with nobody always may act.
func TestAlone(t *testing.T) {
	t.Parallel()
	var g *Guard
	ctx, done, err := g.Act(t.Context())
	if err != nil || ctx != t.Context() || g.Stopped() != nil || g.Ended() != nil {
		t.Errorf("it may not: %v", err)
	}
	done()
}
