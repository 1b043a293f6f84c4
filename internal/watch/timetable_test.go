package watch_test

import (
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/watch"
)

func TestTimetable(t *testing.T) {
	first := now.Add(10 * time.Second)
	table := watch.NewTimetable(first, 10*time.Second)
	for name, c := range map[string]struct {
		now, last, next time.Duration // since now
		missed          int
	}{
		"before the first":       {3 * time.Second, 0, 10 * time.Second, 0},
		"after the first":        {10 * time.Second, 10 * time.Second, 20 * time.Second, 0},
		"a slow check":           {18 * time.Second, 10 * time.Second, 20 * time.Second, 0},
		"a check over its time":  {21 * time.Second, 10 * time.Second, 30 * time.Second, 1},
		"a suspended machine":    {10*time.Second + time.Hour, 10 * time.Second, 20*time.Second + time.Hour, 360},
		"early, by a push":       {27 * time.Second, 20 * time.Second, 30 * time.Second, 0},
		"it does not drift":      {10*time.Second + 7*time.Hour + 1, 10*time.Second + 7*time.Hour, 20*time.Second + 7*time.Hour, 0},
		"a clock that went back": {-time.Hour, 10 * time.Second, 10 * time.Second, 0},
		"the time exactly":       {30 * time.Second, 20 * time.Second, 40 * time.Second, 1},
	} {
		next, missed := table.After(now.Add(c.now), now.Add(c.last))
		if next != now.Add(c.next) || missed != c.missed {
			t.Errorf("%s: in %v, %d missed", name, next.Sub(now), missed)
		}
	}
}

func TestResumeTime(t *testing.T) {
	for name, c := range map[string]struct {
		stored, interval time.Duration
		share            float64
		want             time.Duration
	}{
		"soon":                      {20 * time.Second, 30 * time.Second, 0.5, 20 * time.Second},
		"long over":                 {-time.Hour, 30 * time.Second, 0.5, 5 * time.Second},
		"long over, often":          {-time.Hour, time.Second, 0.5, 500 * time.Millisecond},
		"a clock that was set back": {24 * time.Hour, 30 * time.Second, 0, 0},
		"a clock that was set on":   {-24 * time.Hour, 30 * time.Second, 0, 0},
	} {
		if got := watch.Resume(now.Add(c.stored), now, c.interval, c.share); got != now.Add(c.want) {
			t.Errorf("%s: in %v", name, got.Sub(now))
		}
	}
	if got := watch.Resume(time.Time{}, now, time.Minute, 0); got != now {
		t.Errorf("one that never ran: in %v", got.Sub(now))
	}
}

// A wall clock that is set does not move the checks: the timetable counts by the
// monotonic clock of its times.
func TestTimetableKeepsTimeWithTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		table := watch.NewTimetable(start.Add(time.Second), time.Second)
		last, made := start, 0
		for made < 50 {
			next, missed := table.After(time.Now(), last)
			if missed != 0 {
				t.Fatalf("%d missed", missed)
			}
			<-time.After(time.Until(next))
			last = next
			made++
		}
		if took := time.Since(start); took != 50*time.Second {
			t.Errorf("50 checks took %v", took)
		}
	})
}

func TestExpired(t *testing.T) {
	w := newWatcher(t, `{"name":"a","expires":60}`)
	for after, want := range map[time.Duration]bool{0: false, 59 * time.Second: false, time.Minute: true, time.Hour: true} {
		if w.Expired(now.Add(after)) != want {
			t.Errorf("after %v: %v", after, !want)
		}
	}
}
