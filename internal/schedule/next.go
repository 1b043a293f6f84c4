package schedule

import (
	"math"
	"math/bits"
	"time"
)

// Times on the clock of a wall are seconds, as if that clock were one of UTC.
// Between two changes of a time zone's offset, the wall is the instant and the
// offset; so a search looks at one such stretch after the other, and in each at a
// calendar that knows no changes.

// farthest is more than any clock is from another: that of the wall from UTC, and a
// wall that was set back from itself.
const farthest = 48 * time.Hour

// horizon is how many years ahead a line is searched: 29 February falls on a given
// day of the week once in 28 years, and in 40 across 2100.
const horizon = 41

// stretch is a time without changes of a zone's offset. Its end is not in it.
type stretch struct{ start, end, offset int64 }

// stretchAt returns the stretch that an instant is in.
func stretchAt(at int64, zone *time.Location) stretch {
	t := time.Unix(at, 0).In(zone)
	_, offset := t.Zone()
	s := stretch{math.MinInt64, math.MaxInt64, int64(offset)}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		s.start = start.Unix()
	}
	if !end.IsZero() {
		s.end = end.Unix()
	}
	return s
}

// nextOnWall returns the first instant after another at which the wall shows a time
// of the line.
func (l *line) nextOnWall(after time.Time, zone *time.Location) (time.Time, bool) {
	from := after.Unix() + 1
	for latest := after.AddDate(horizon, 0, 0).Unix(); from < latest; {
		s := stretchAt(from, zone)
		wall, ok := l.from(from + s.offset)
		switch {
		case ok && wall-s.offset < s.end:
			return time.Unix(wall-s.offset, 0).In(zone), true
		case s.end == math.MaxInt64:
			return time.Time{}, false
		}
		from = s.end
	}
	return time.Time{}, false
}

// nextForward returns the first instant after another at which a clock that never
// goes back reaches a time of the line.
func (l *line) nextForward(after time.Time, zone *time.Location) (time.Time, bool) {
	now := after.Unix()
	wall, ok := l.from(reached(now, zone) + 1)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(reach(wall, now+1, zone), 0).In(zone), true
}

// reached returns the latest time that the wall has shown until an instant.
func reached(now int64, zone *time.Location) int64 {
	s := stretchAt(now, zone)
	latest := now + s.offset
	for s.start > now-int64(farthest/time.Second) {
		end := s.start
		s = stretchAt(end-1, zone)
		latest = max(latest, end-1+s.offset)
	}
	return latest
}

// reach returns the first instant, from one on, at which the wall shows a time or a
// later one. No zone shows it long before UTC does.
func reach(wall, from int64, zone *time.Location) int64 {
	from = max(from, wall-int64(farthest/time.Second))
	for {
		s := stretchAt(from, zone)
		at := max(from, wall-s.offset)
		if at < s.end {
			return at
		}
		from = s.end
	}
}

// from returns the first time of the line, from one on, in a calendar without
// changes of the clock.
func (l *line) from(wall int64) (int64, bool) {
	t := time.Unix(wall, 0).UTC()
	if t.Second() > 0 {
		t = t.Truncate(time.Minute).Add(time.Minute)
	}
	year, month, day := t.Date()
	hour, minute := t.Hour(), t.Minute()
	for last := year + horizon; year <= last; {
		if l.months>>month&1 == 0 || day > daysIn(year, month) {
			month, day, hour, minute = month+1, 1, 0, 0
			if month > time.December {
				year, month = year+1, time.January
			}
			continue
		}
		if !l.onDay(day, time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Weekday()) {
			day, hour, minute = day+1, 0, 0
			continue
		}
		h := atLeast(l.hours, hour)
		if h > hour {
			minute = 0
		}
		m := atLeast(l.minutes, minute)
		switch {
		case h > 23:
			day, hour, minute = day+1, 0, 0
		case m > 59:
			hour, minute = h+1, 0
		default:
			return time.Date(year, month, day, h, m, 0, 0, time.UTC).Unix(), true
		}
	}
	return 0, false
}

// atLeast returns the smallest number of a set that is n or more, and 64 or more if
// there is none.
func atLeast(set uint64, n int) int { return n + bits.TrailingZeros64(set>>n) }

func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
