package watchers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"callgate/internal/conversation/history"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/internal/watch"
)

// The times of checks that a source causes.
const (
	settle     = 200 * time.Millisecond // after the source spoke: more may come
	minBetween = time.Second            // between two checks
)

// run runs a watcher until it ends, or the kernel does.
func (s *Set) run(ctx context.Context, r *tasks.Run) task.Outcome {
	l, err := s.open(r)
	if err != nil {
		return tasks.Failed(err)
	}
	defer s.close(l)
	kept, rest, release := s.keep(r.Asker, l.w.Interval)
	defer release()
	if err := s.tellPending(ctx, l); err != nil && ctx.Err() == nil {
		s.logUntold(l, err)
	}
	stop := s.listen(ctx, l, kept)
	defer stop()
	s.loop(ctx, l, func(c context.Context, due time.Time, pushed bool) {
		s.pool.do(c, func() { s.check(c, l, kept, due, pushed) })
		rest()
	})
	return s.ended(ctx, l)
}

// ended is how the run of a watcher ends. What it knows is told and stored first.
func (s *Set) ended(ctx context.Context, l *live) task.Outcome {
	s.tellLast(ctx, l)
	closing := errors.Is(context.Cause(ctx), history.KernelClosed)
	if ctx.Err() != nil && !closing {
		l.with(func(w *watch.Watcher) {
			if w.Status == watch.Running || w.Status == watch.Paused {
				w.End(watch.Stopped, "it was stopped")
			}
		})
	}
	if err := l.save(ctx); err != nil && ctx.Err() == nil {
		s.opt.Log.Error("a watcher cannot be stored", "watcher", l.run.ID, "error", err)
	}
	var o task.Outcome
	l.with(func(w *watch.Watcher) {
		o = task.Outcome{State: task.Cancelled, Summary: w.EndText()}
		switch w.Status {
		case watch.Completed:
			o.State = task.Done
		case watch.Failed:
			o.State = task.Failed
		}
		if !closing {
			l.run.Log(ctx, fmt.Sprintf("%s after %d checks: %s", w.Status, w.Checks, w.Why), nil)
		}
	})
	return o
}

// loop makes the checks when they are due.
func (s *Set) loop(ctx context.Context, l *live, check func(ctx context.Context, due time.Time, pushed bool)) {
	var next, last, expires time.Time
	var table watch.Timetable
	l.with(func(w *watch.Watcher) {
		next = onGrid(watch.Resume(w.Next, time.Now(), w.Interval, share(w.ID)))
		table, expires = watch.NewTimetable(next, w.Interval), w.Expires
	})
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	for planned, pushed := next, false; ; {
		if l.over(time.Now(), planned) {
			return
		}
		timer.Reset(max(0, time.Until(sooner(next, expires))))
		select {
		case <-ctx.Done():
			return
		case <-l.poke:
			continue
		case <-l.wake:
			if due := pushTime(last); due.Before(next) {
				next, pushed = due, true
			}
			continue
		case <-timer.C:
		}
		now := time.Now()
		if now.Before(next) || l.paused() {
			if !now.Before(next) { // the time passes without a check
				next, _ = table.After(now, planned)
				planned, pushed = next, false
			}
			continue
		}
		due := now
		if late := now.Sub(next); late <= grid {
			due = now.Add(-late) // of this clock, whatever happens to the wall's
		}
		check(ctx, due, pushed)
		last = time.Now()
		var missed int
		next, missed = table.After(last, planned)
		planned, pushed = next, false
		l.with(func(w *watch.Watcher) {
			w.Metrics.Missed += missed
			w.Next = next.Round(0)
		})
	}
}

// onGrid moves a time to the next multiple of the grid, by the wall clock of now: what is
// due together shares wake-ups, looks at the rules, and writes of the journal.
func onGrid(t time.Time) time.Time {
	late := time.Duration(t.UnixNano()) % grid
	if late == 0 {
		return t
	}
	return t.Add(grid - late)
}

// pushTime is when a check is made after a source spoke.
func pushTime(last time.Time) time.Time {
	due := time.Now().Add(settle)
	if earliest := last.Add(minBetween); !last.IsZero() && due.Before(earliest) {
		return earliest
	}
	return due
}

// sooner returns the sooner of two times, of which the second may be none.
func sooner(a, b time.Time) time.Time {
	// A moment is by the wall clock, and the time of a check by the process's own.
	if !b.IsZero() {
		// The wall clock may be set meanwhile: it is looked at now and then.
		if look := time.Now().Add(time.Minute); look.Before(a) {
			a = look
		}
		if until := time.Now().Add(time.Until(b.Round(0))); until.Before(a) {
			return until
		}
	}
	return a
}

// over reports whether the watcher has ended. One whose time is over ends here.
func (l *live) over(now, next time.Time) (over bool) {
	l.with(func(w *watch.Watcher) {
		if w.Expired(now) && (w.Status == watch.Running || w.Status == watch.Paused) {
			w.End(watch.Completed, "its time is over")
		}
		over = w.Status != watch.Running && w.Status != watch.Paused
		if !over {
			w.Next = next.Round(0)
		}
	})
	return over
}

func (l *live) paused() (paused bool) {
	l.with(func(w *watch.Watcher) { paused = w.Status == watch.Paused })
	return paused
}
