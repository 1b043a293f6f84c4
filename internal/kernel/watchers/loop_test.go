package watchers

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/condition"
	"callgate/internal/kernel/tasks"
	"callgate/internal/watch"
)

// loopTest runs the loop of a watcher in a bubble, whose clock begins at midnight, and
// notes when it checks.
type loopTest struct {
	*live
	began time.Time
	made  []time.Duration // when, since it began
	push  []bool
	took  time.Duration // how long a check takes
	ended chan struct{}
	stop  context.CancelFunc
}

func startLoop(t *testing.T, args string, change func(*watch.State)) *loopTest {
	t.Helper()
	spec, err := watch.Parse(json.RawMessage(args), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	state := watch.State{Status: watch.Running, Next: time.Now().Add(spec.Interval)}
	if change != nil {
		change(&state)
	}
	w, err := watch.Restore("w", spec, state, condition.Type{})
	if err != nil {
		t.Fatal(err)
	}
	l := &loopTest{
		live:  &live{w: w, run: &tasks.Run{}, poke: make(chan struct{}, 1), wake: make(chan struct{}, 1)},
		began: time.Now(), ended: make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(t.Context())
	l.stop = cancel
	go func() {
		defer close(l.ended)
		(&Set{}).loop(ctx, l.live, func(_ context.Context, _ time.Time, pushed bool) {
			var took time.Duration
			l.with(func(*watch.Watcher) {
				l.made, l.push = append(l.made, time.Since(l.began)), append(l.push, pushed)
				took = l.took
			})
			<-time.After(took)
			l.with(func(w *watch.Watcher) {
				w.Check(watch.Check{At: time.Now(), Result: json.RawMessage("1"), Pushed: pushed})
			})
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-l.ended
	})
	return l
}

// until lets the clock run to a time since the beginning.
func (l *loopTest) until(at time.Duration) {
	<-time.After(at - time.Since(l.began))
	synctest.Wait()
}

// times are when it checked.
func (l *loopTest) times() (all []time.Duration) {
	l.with(func(*watch.Watcher) { all = slices.Clone(l.made) })
	return all
}

// numbers are its metrics, and which checks were pushed.
func (l *loopTest) numbers() (m watch.Metrics, pushed []bool) {
	l.with(func(w *watch.Watcher) { m, pushed = w.Metrics, slices.Clone(l.push) })
	return m, pushed
}

func (l *loopTest) expect(t *testing.T, want ...time.Duration) {
	t.Helper()
	if made := l.times(); !slices.Equal(made, want) {
		t.Errorf("checked at %v, and not at %v", made, want)
	}
}

const second = time.Second

// Checks come at their times, and do not drift, however long each takes.
func TestLoopKeepsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLoop(t, `{"name":"a","interval":10}`, nil)
		l.with(func(*watch.Watcher) { l.took = 3 * second })
		l.until(45 * second)
		l.expect(t, 10*second, 20*second, 30*second, 40*second)
		if m, _ := l.numbers(); m.Missed != 0 {
			t.Errorf("%d missed", m.Missed)
		}
	})
}

// Times that pass during a check are left out, and counted.
func TestLoopLeavesOutWhatPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLoop(t, `{"name":"a","interval":10}`, nil)
		l.with(func(*watch.Watcher) { l.took = 25 * second })
		l.until(69 * second)
		l.expect(t, 10*second, 40*second)
		l.until(70 * second)
		l.expect(t, 10*second, 40*second, 70*second)
		if m, _ := l.numbers(); m.Missed != 4 {
			t.Errorf("%d missed", m.Missed)
		}
	})
}

// A source that speaks has the next check come sooner: after it has settled, and at most
// once a second. The timetable stays.
func TestLoopPushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLoop(t, `{"name":"a","interval":10}`, nil)
		l.until(3 * second)
		signal(l.wake)
		l.until(3*second + 100*time.Millisecond)
		l.expect(t)
		l.until(3*second + 300*time.Millisecond)
		signal(l.wake)
		signal(l.wake)
		l.until(9 * second)
		l.expect(t, 3200*time.Millisecond, 4200*time.Millisecond)
		signal(l.wake) // this one comes shortly before its time
		l.until(9900 * time.Millisecond)
		signal(l.wake)
		l.until(25 * second)
		l.expect(t, 3200*time.Millisecond, 4200*time.Millisecond, 9200*time.Millisecond, 10*second, 20*second)
		m, pushed := l.numbers()
		if !slices.Equal(pushed, []bool{true, true, true, false, false}) || m.Pushed != 3 || m.Missed != 0 {
			t.Errorf("%v, %+v", pushed, m)
		}
	})
}

// A paused watcher passes over its times, and goes on at the next.
func TestLoopPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLoop(t, `{"name":"a","interval":10}`, nil)
		l.until(12 * second)
		l.with(func(w *watch.Watcher) {
			if err := w.Pause(); err != nil {
				t.Error(err)
			}
		})
		signal(l.poke)
		signal(l.wake) // nor does a source wake it
		l.until(45 * second)
		l.expect(t, 10*second)
		l.with(func(w *watch.Watcher) {
			if err := w.Resume(); err != nil {
				t.Error(err)
			}
		})
		signal(l.poke)
		l.until(55 * second)
		l.expect(t, 10*second, 50*second)
	})
}

// A watcher ends when its time is over, also between two checks and when it is paused.
func TestLoopExpires(t *testing.T) {
	for _, status := range []watch.Status{watch.Running, watch.Paused} {
		synctest.Test(t, func(t *testing.T) {
			l := startLoop(t, `{"name":"a","interval":3600,"expires":5400}`, func(s *watch.State) { s.Status = status })
			<-l.ended
			if took := time.Since(l.began); took != 90*time.Minute || l.w.Status != watch.Completed {
				t.Errorf("%s ended after %v as %s", status, took, l.w.Status)
			}
			if want := map[watch.Status]int{watch.Running: 1}[status]; len(l.times()) != want {
				t.Errorf("%s checked at %v", status, l.times())
			}
		})
	}
}

func TestLoopEndsWithItsChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLoop(t, `{"name":"a","interval":1,"max_checks":3}`, nil)
		<-l.ended
		l.expect(t, second, 2*second, 3*second)
	})
}

// After a restart the first check comes at its time; one whose time has passed comes soon
// and once; and a clock that was set meanwhile does not keep it waiting.
func TestLoopResumes(t *testing.T) {
	for name, c := range map[string]struct {
		next      time.Duration // when it was due, from now
		low, high time.Duration
	}{
		"its time comes":          {4 * second, 4 * second, 4 * second},
		"its time has passed":     {-100 * second, 0, 10 * second},
		"the clock was set back":  {1000 * time.Hour, 0, 10 * second},
		"the clock was set ahead": {-1000 * time.Hour, 0, 10 * second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := startLoop(t, `{"name":"a","interval":30}`, func(s *watch.State) { s.Next = time.Now().Add(c.next) })
				l.until(11 * second)
				made := l.times()
				if len(made) != 1 || made[0] < c.low || made[0] > c.high {
					t.Fatalf("checked at %v", made)
				}
				l.until(made[0] + 65*second)
				l.expect(t, made[0], made[0]+30*second, made[0]+60*second)
			})
		})
	}
}

// The checks of many watchers are due together.
func TestOnGrid(t *testing.T) {
	at := time.Date(2030, 1, 1, 0, 0, 0, 30_000_001, time.UTC)
	if got := onGrid(at); got != time.Date(2030, 1, 1, 0, 0, 0, 100_000_000, time.UTC) || onGrid(got) != got {
		t.Errorf("%v", got)
	}
}

// At most so many checks run at once, and who stops waiting for a turn has none.
func TestPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool()
		release := make(chan struct{})
		running := make(chan struct{}, 2*maxChecks)
		for range 2 * maxChecks {
			go p.do(t.Context(), func() {
				running <- struct{}{}
				<-release
			})
		}
		synctest.Wait()
		if len(running) != maxChecks {
			t.Errorf("%d run at once", len(running))
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			p.do(ctx, func() { t.Error("it ran without a turn") })
			close(gone)
		}()
		synctest.Wait()
		cancel()
		<-gone
		close(release)
		synctest.Wait()
		if len(running) != 2*maxChecks {
			t.Errorf("%d ran", len(running))
		}
		<-time.After(2 * idle)
		synctest.Wait()
		if len(p.slots) != 0 {
			t.Errorf("%d workers wait for ever", len(p.slots))
		}
	})
}
