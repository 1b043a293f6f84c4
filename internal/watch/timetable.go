package watch

import "time"

// Timetable is when checks are due: at the first time, and then at each interval after
// it. It counts by the clock that its times carry, which is the monotonic one of the
// process: a wall clock that is set does not move it.
type Timetable struct {
	first    time.Time
	interval time.Duration
}

// NewTimetable makes a timetable whose first check is due at a time.
func NewTimetable(first time.Time, interval time.Duration) Timetable {
	return Timetable{first, max(interval, MinInterval)}
}

// After returns the first time that is later than now, and how many were missed since
// the one that was due at last.
func (t Timetable) After(now, last time.Time) (next time.Time, missed int) {
	if now.Before(t.first) {
		return t.first, 0
	}
	n := now.Sub(t.first)/t.interval + 1
	next = t.first.Add(n * t.interval)
	if !last.Before(t.first) {
		missed = max(0, int(n)-int(last.Sub(t.first)/t.interval)-1)
	}
	return next, missed
}

// maxSpread bounds how late the first check after a restart is.
const maxSpread = 10 * time.Second

// Resume returns when the first check after a restart is due. stored is when the next
// was due by the wall clock of the process before; share, from 0 to 1, spreads the
// watchers whose time has passed, so that they do not all check at once. A time that is
// further away than an interval is of a clock that was set since, and does not count.
func Resume(stored, now time.Time, interval time.Duration, share float64) time.Time {
	wait := stored.Round(0).Sub(now.Round(0))
	if stored.IsZero() || wait <= 0 || wait > interval {
		wait = time.Duration(share * float64(min(interval, maxSpread)))
	}
	return now.Add(wait)
}
