// Package schedule reads when something is to happen, and says when it happens
// next. It keeps nothing and looks at no clock: who asks says what time it is.
//
// # What may be written
//
//   - a time from now: "in 90s", "in 5 minutes", "in 1h 30m". A day is 24 hours
//     and a week is seven of them; months and years have no one length.
//   - a date with a time: "2026-03-01T09:00", with seconds if need be. Z or an
//     offset makes it an instant; without them it is read in the time zone of the
//     schedule, which is UTC where nobody names one. A time that was up to five
//     seconds ago is now; one that is earlier, or more than ten years away, is
//     refused.
//   - five fields of cron: minute, hour, day of the month, month, day of the week
//     (Sunday is 0 and 7), with names, ranges, steps and lists. Where both days
//     are given, either is enough; one that begins with * gives none.
//   - @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually.
//
// # Nights on which the clocks change
//
// A line that names hours reads a clock that never goes back: it happens when
// that clock reaches the time. So a time that does not exist that night happens
// once, right after the gap, together with all others of that gap; and a time
// that exists twice happens once, the first time. A date without a zone is read
// by the same clock.
//
// A line that leaves the hour open (*, or every hour) follows the clock on the
// wall as it is: in a gap there is nothing, and what is there twice happens twice,
// so that "every ten minutes" is every ten minutes of real time.
package schedule

import (
	"strings"
	"time"
	_ "time/tzdata" // time zones are known where the system has no files of them

	"callgate/tool"
)

const op = "schedule"

// MaxText is the longest text that Parse reads.
const MaxText = 200

// The limits of a time: how long ago it may be to count as now, and how far away.
const (
	grace    = 5 * time.Second
	maxYears = 10
)

// Plan is when something happens: once, or again and again. Make one with Parse.
type Plan struct {
	text string
	at   time.Time // of a plan for once
	line *line
	zone *time.Location
}

// Options are what a text is read with. Now is needed; Zone is UTC where nobody
// names one.
type Options struct {
	Now  time.Time
	Zone *time.Location
}

// Parse reads when something is to happen.
func Parse(when string, o Options) (Plan, error) {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if len(when) > MaxText {
		return Plan{}, tool.Errorf(op, tool.Invalid, "when has %d bytes, and at most %d are read", len(when), MaxText).
			WithHint("%s", o.examples())
	}
	fields := strings.Fields(when)
	text := strings.Join(fields, " ")
	first, _, _ := strings.Cut(text, " ")
	switch {
	case text == "":
		return Plan{}, tool.Errorf(op, tool.Invalid, "when is empty").WithHint("%s", o.examples())
	case text[0] == '@':
		return o.macro(text)
	case strings.EqualFold(first, "in"):
		return o.relative(text)
	case looksLikeDate(text):
		return o.date(text)
	case looksLikeCron(fields):
		return o.cron(text, fields)
	}
	return Plan{}, o.unknown(text)
}

// Once reports whether it happens once.
func (p Plan) Once() bool { return p.line == nil }

// At is when a plan for once happens.
func (p Plan) At() time.Time { return p.at }

// Zone is the time zone that the plan is read in.
func (p Plan) Zone() *time.Location { return p.zone }

// String is the plan as it can be read again: the instant, or the five fields.
func (p Plan) String() string { return p.text }

// Next returns the first time after another, and false if there is none in the
// decades that follow.
func (p Plan) Next(after time.Time) (time.Time, bool) {
	switch {
	case p.line == nil:
		return p.at, p.at.After(after)
	case p.line.everyHour():
		return p.line.nextOnWall(after, p.zone)
	default:
		return p.line.nextForward(after, p.zone)
	}
}

// once makes the plan of an instant, if that is neither past nor too far away.
func (o Options) once(text string, at time.Time) (Plan, error) {
	switch limit := o.Now.AddDate(maxYears, 0, 0); {
	case at.Before(o.Now.Add(-grace)):
		return Plan{}, tool.Errorf(op, tool.Invalid, "when is %q, which is past: it is %s now", text, o.write(o.Now)).
			WithHint("%s", o.examples())
	case at.After(limit):
		return Plan{}, tool.Errorf(op, tool.Invalid, "when is %q, which is more than %d years away", text, maxYears).
			WithHint("the latest is %s", o.write(limit))
	}
	if at.Before(o.Now) {
		at = o.Now
	}
	at = at.UTC().Round(0)
	return Plan{text: at.Format(time.RFC3339Nano), at: at, zone: o.Zone}, nil
}

// repeated makes the plan of a line, if it comes at all.
func (o Options) repeated(text string, l *line) (Plan, error) {
	p := Plan{text: text, line: l, zone: o.Zone}
	next, ok := p.Next(o.Now)
	if !ok {
		return Plan{}, tool.Errorf(op, tool.Invalid, "when is %q, which never comes: no month in it has such a day", text).
			WithHint("the fields are minute, hour, day of the month, month, day of the week, as in 0 9 1 * *")
	}
	if next.After(o.Now.AddDate(maxYears, 0, 0)) {
		return Plan{}, tool.Errorf(op, tool.Invalid, "when is %q, which does not come before %s, more than %d years from now",
			text, o.write(next), maxYears).WithHint("check the days and the months in it")
	}
	return p, nil
}

// write writes an instant as it reads in the zone.
func (o Options) write(t time.Time) string { return t.In(o.Zone).Format(time.RFC3339) }

// examples shows one of each form.
func (o Options) examples() string {
	return `write "in 30m", a time such as ` + o.write(o.Now.AddDate(0, 0, 1).Truncate(time.Hour)) +
		`, or cron such as "0 9 * * 1-5"`
}

// unknown is the error of a text in no form that is known.
func (o Options) unknown(text string) error {
	e := tool.Errorf(op, tool.Invalid, "when is %q, which is no time that is known here", text)
	word, rest, _ := strings.Cut(strings.ToLower(text), " ")
	switch _, err := readSpans(text); {
	case err == nil:
		return e.WithHint("write %q", "in "+text)
	case word == "every":
		return e.WithHint("%s", everyHint(rest))
	case strings.Contains(word, "tz="):
		return e.WithHint("give the time zone in timezone, and only the five fields in when")
	case word == "now":
		return e.WithHint(`write "in 1s"`)
	}
	return e.WithHint("%s", o.examples())
}
