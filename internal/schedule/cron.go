package schedule

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/tool"
)

// line is five fields of cron. Each is a set of numbers, a bit for each.
type line struct {
	minutes, hours, days, months, weekdays uint64
	// A field of days that begins with * does not count where the other one is
	// given: then both must be met, else either is enough.
	anyDay, anyWeekday bool
}

// field is what one of the five fields may hold.
type field struct {
	name     string
	min, max int
	names    []string // of the numbers from min on
}

var fields = [5]field{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"january", "february", "march", "april", "may", "june", "july", "august", "september",
		"october", "november", "december"}},
	{"day of the week", 0, 7, []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}},
}

// macros are lines that have a name.
var macros = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// macro reads "@daily".
func (o Options) macro(text string) (Plan, error) {
	if text, ok := macros[strings.ToLower(text)]; ok {
		return o.cron(text, strings.Fields(text))
	}
	name, rest, _ := strings.Cut(strings.ToLower(text), " ")
	e := tool.Errorf(op, tool.Invalid, "when is %q, and %s is not known here", text, tool.Truncate(name))
	switch name {
	case "@every":
		return Plan{}, e.WithHint("%s", everyHint(rest))
	case "@reboot":
		return Plan{}, e.WithHint("nothing is scheduled for the start of a machine")
	}
	return Plan{}, e.WithHint("the names are @hourly, @daily, @weekly, @monthly and @yearly")
}

// looksLikeCron reports whether fields are meant as cron: there are at least five
// with a star among them, or the first is written as a minute is.
func looksLikeCron(fields []string) bool {
	if len(fields) >= 5 && slices.ContainsFunc(fields, func(f string) bool { return f[0] == '*' }) {
		return !strings.Contains(fields[0], "=")
	}
	if _, err := readSpans(strings.Join(fields, " ")); err == nil {
		return false // 30 seconds
	}
	return len(fields) > 1 && strings.Trim(fields[0], "0123456789*/,-?") == ""
}

// Cron reads five fields, whenever they come: what Parse has accepted before.
func Cron(text string, zone *time.Location) (Plan, error) {
	l, err := readLine(text, strings.Fields(text))
	return Plan{text: text, line: l, zone: zone}, err
}

// cron reads five fields that come soon enough.
func (o Options) cron(text string, words []string) (Plan, error) {
	l, err := readLine(text, words)
	if err != nil {
		return Plan{}, err
	}
	return o.repeated(text, l)
}

func readLine(text string, words []string) (*line, error) {
	if len(words) != len(fields) {
		return nil, fieldCount(text, words)
	}
	var sets [5]uint64
	for i, word := range words {
		set, err := fields[i].read(word)
		if err != nil {
			return nil, tool.Errorf(op, tool.Invalid, "when is %q: in its %s, %q, %w", text, fields[i].name,
				tool.TruncateTo(word, 40), err).WithHint("%s", err.hint)
		}
		sets[i] = set
	}
	if sunday := uint64(1 << 7); sets[4]&sunday != 0 {
		sets[4] = sets[4]&^sunday | 1
	}
	return &line{
		minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4],
		anyDay: words[2][0] == '*', anyWeekday: words[4][0] == '*',
	}, nil
}

// fieldCount is the error of a line that has not five fields.
func fieldCount(text string, words []string) error {
	e := tool.Errorf(op, tool.Invalid, "when is %q: it has %d fields, and cron has 5 here", text, len(words))
	const names = "minute, hour, day of the month, month, day of the week"
	switch len(words) {
	case 6:
		return e.WithHint("seconds and years are not taken, nothing happens more than once a minute; write %q (%s)",
			strings.Join(words[1:], " "), names)
	case 7:
		return e.WithHint("seconds and years are not taken, nothing happens more than once a minute; write %q (%s)",
			strings.Join(words[1:6], " "), names)
	}
	return e.WithHint(`they are %s: "0 9 * * 1-5" is nine o'clock from Monday to Friday`, names)
}

// read reads one field: a list of numbers, ranges and steps.
func (f field) read(text string) (uint64, *spanError) {
	var set uint64
	for part := range strings.SplitSeq(text, ",") {
		some, err := f.part(part)
		if err != nil {
			return 0, err
		}
		set |= some
	}
	return set, nil
}

// part reads "*", "5", "1-5", and each of them with a step behind.
func (f field) part(text string) (uint64, *spanError) {
	span, step, stepped := strings.Cut(text, "/")
	low, high := f.min, f.max
	if f.max == 7 { // Sunday is there twice, which steps must not count
		high = 6
	}
	if span != "*" {
		var err *spanError
		if low, high, err = f.span(span, high, stepped); err != nil {
			return 0, err
		}
	}
	by := 1
	if stepped {
		size := f.size()
		n, err := strconv.Atoi(step)
		switch {
		case err != nil || !isDigit(step[0]):
			return 0, &spanError{fmt.Sprintf("the step %s is no number", quote(step)), "a step is written as in */5 or 10-50/5"}
		case n < 1 || n > size:
			return 0, &spanError{fmt.Sprintf("the step %d is not between 1 and %d", n, size),
				"steps begin anew with every hour, day, month or year; a longer one needs a field further right"}
		}
		by = n
	}
	var set uint64
	for n := low; n <= high; n += by {
		set |= 1 << n
	}
	return set, nil
}

// span reads a number or a range. A number with a step begins a range to the end
// of the field, which is last.
func (f field) span(text string, last int, stepped bool) (low, high int, err *spanError) {
	from, to, ranged := strings.Cut(text, "-")
	if low, err = f.number(from); err != nil {
		return 0, 0, err
	}
	if !ranged {
		if stepped {
			return low, max(low, last), nil
		}
		return low, low, nil
	}
	if high, err = f.number(to); err != nil {
		return 0, 0, err
	}
	if f.max == 7 && high == 0 && low > 0 {
		high = 7 // Friday to Sunday
	}
	if low > high {
		return 0, 0, &spanError{fmt.Sprintf("the range %s-%s goes backwards", from, to),
			fmt.Sprintf("write it as two ranges: %d-%d,%d-%d", low, last, f.min, high)}
	}
	return low, high, nil
}

// number reads a number or a name.
func (f field) number(text string) (int, *spanError) {
	bounds := fmt.Sprintf("it takes %d to %d", f.min, f.max)
	if f.names != nil {
		bounds += " and names, such as " + f.names[0][:3]
	}
	name := strings.ToLower(text)
	if i := slices.IndexFunc(f.names, func(full string) bool { return name == full || name == full[:3] }); i >= 0 {
		return i + f.min, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case text == "":
		return 0, &spanError{"a number is missing", bounds}
	case text == "?":
		return 0, &spanError{"? is not taken", "write * for any"}
	case strings.ContainsAny(name, "lw#") && strings.Trim(name, "0123456789lw#") == "":
		return 0, &spanError{quote(text) + " is not taken (L, W and # are of other crons)", bounds}
	case err != nil || !isDigit(text[0]):
		return 0, &spanError{quote(text) + " is no number", bounds}
	case n < f.min || n > f.max:
		return 0, &spanError{fmt.Sprintf("%d is out of bounds", n), bounds}
	}
	return n, nil
}

// size is how many different numbers the field holds.
func (f field) size() int {
	if f.max == 7 {
		return 7
	}
	return f.max - f.min + 1
}

// everyHour reports whether the line leaves the hour open.
func (l *line) everyHour() bool { return bits.OnesCount64(l.hours) == 24 }

// onDay reports whether the line has a day.
func (l *line) onDay(day int, weekday time.Weekday) bool {
	byDay, byWeekday := l.days>>day&1 != 0, l.weekdays>>weekday&1 != 0
	if l.anyDay || l.anyWeekday {
		return byDay && byWeekday
	}
	return byDay || byWeekday
}

func decimal[N ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }
