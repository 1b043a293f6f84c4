package schedule

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"callgate/tool"
)

// unit is a length of time, under the names that it has, the shortest first.
type unit struct {
	length time.Duration
	names  []string
}

// units are in the order in which they are written.
var units = []unit{
	{7 * 24 * time.Hour, []string{"w", "wk", "wks", "week", "weeks"}},
	{24 * time.Hour, []string{"d", "day", "days"}},
	{time.Hour, []string{"h", "hr", "hrs", "hour", "hours"}},
	{time.Minute, []string{"m", "min", "mins", "minute", "minutes"}},
	{time.Second, []string{"s", "sec", "secs", "second", "seconds"}},
}

// maxAway is more than the longest time from now, and is added up without
// overflow.
const maxAway = (maxYears + 1) * 366 * 24 * time.Hour

// relative reads "in 5 minutes".
func (o Options) relative(text string) (Plan, error) {
	length, err := readSpans(text[len("in"):])
	if err != nil {
		return Plan{}, tool.Errorf(op, tool.Invalid, "when is %q: %w", text, err).WithHint("%s", err.hint)
	}
	if length < time.Second {
		return Plan{}, tool.Errorf(op, tool.Invalid, "when is %q, which is no time from now", text).
			WithHint(`the shortest is "in 1s"`)
	}
	if length > maxAway {
		length = maxAway
	}
	return o.once(text, o.Now.Add(length))
}

// spanError is what is wrong with a length of time.
type spanError struct{ text, hint string }

func (e *spanError) Error() string { return e.text }

const spanHint = `write a number and a unit (s, m, h, d), as in "in 5m" or "in 1h 30m"`

// readSpans reads "1h 30m", "1 hour and 30 minutes" or "an hour".
func readSpans(text string) (time.Duration, *spanError) {
	var total time.Duration
	rest, last := text, -1
	for {
		rest = strings.TrimLeft(rest, " ")
		if rest == "" {
			break
		}
		number, after, err := readNumber(rest)
		if err != nil {
			return 0, err
		}
		after = strings.TrimLeft(after, " ")
		word := after[:wordEnd(after)]
		at, err := findUnit(word)
		if err != nil {
			return 0, err
		}
		if at <= last {
			return 0, &spanError{"the units are not in order, or one is there twice", `write it as in "in 1d 2h 30m"`}
		}
		last, rest = at, after[len(word):]
		total += min(number, maxAway/units[at].length+1) * units[at].length
		rest = strings.TrimLeft(rest, " ")
		rest = strings.TrimPrefix(rest, ",")
		if joined, ok := strings.CutPrefix(strings.TrimLeft(rest, " "), "and "); ok {
			rest = joined
		}
	}
	if last < 0 {
		return 0, &spanError{"no length of time is given", spanHint}
	}
	return total, nil
}

// readNumber reads a whole number, or "a" and "an" for one. It counts no further than
// what any unit needs.
func readNumber(text string) (n time.Duration, rest string, err *spanError) {
	word := text[:wordEnd(text)]
	if strings.EqualFold(word, "a") || strings.EqualFold(word, "an") {
		return 1, text[len(word):], nil
	}
	digits := 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		n = min(n*10+time.Duration(text[digits]-'0'), maxAway/time.Second)
		digits++
	}
	rest = text[digits:]
	switch {
	case digits == 0:
		return 0, "", &spanError{"no number begins at " + quote(text), spanHint}
	case strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, ",") && len(rest) > 1 && isDigit(rest[1]):
		return 0, "", &spanError{"only whole numbers are read", `write "in 90m" for an hour and a half`}
	}
	return n, rest, nil
}

// findUnit returns where the unit of a name is.
func findUnit(word string) (int, *spanError) {
	name := strings.ToLower(word)
	switch name {
	case "":
		return 0, &spanError{"a number has no unit", spanHint}
	case "mo", "month", "months", "y", "yr", "year", "years":
		return 0, &spanError{"months and years have no one length", "count in days, or give the date, as in 2027-01-31T09:00"}
	}
	if word == "M" {
		return 0, &spanError{"M may be minutes or months", "write m for minutes"}
	}
	for i, u := range units {
		if slices.Contains(u.names, name) {
			return i, nil
		}
	}
	return 0, &spanError{quote(word) + " is no unit of time", spanHint}
}

// wordEnd is where the letters at the beginning of a text end.
func wordEnd(text string) int {
	end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		return len(text)
	}
	return end
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func quote(text string) string { return `"` + tool.TruncateTo(text, 20) + `"` }

// everyHint says how a repeated length of time is written in cron, where it can be.
func everyHint(text string) string {
	length, err := readSpans(text)
	if bare, e := readSpans("1 " + text); err != nil && e == nil { // every minute
		length, err = bare, nil
	}
	const day = 24 * time.Hour
	switch minutes := length / time.Minute; {
	case err != nil:
		return `say how often in cron: "*/5 * * * *" is every five minutes, "0 9 * * *" every day at nine`
	case length%time.Minute != 0:
		return `nothing here happens more than once a minute, or at a part of one: "* * * * *" is every minute`
	case length < time.Hour && 60%minutes == 0:
		return "write " + quote("*/"+decimal(minutes)+" * * * *")
	case length == time.Hour:
		return `write "@hourly"`
	case length < day && length%time.Hour == 0 && 24%(length/time.Hour) == 0:
		return "write " + quote("0 */"+decimal(length/time.Hour)+" * * *")
	case length == day:
		return `write "@daily"`
	case length == 7*day:
		return `write "@weekly"`
	}
	return `no line of cron is that: its steps begin anew every hour, day or month. ` +
		`"*/10 * * * *" is every ten minutes, "0 */6 * * *" every six hours`
}
