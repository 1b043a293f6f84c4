package protocol

import (
	"strconv"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/tool"
)

// ParseRemember reads which of an approval's choices a person wants to keep: its
// number, and an end date if one is wanted, as in "2" or "2 30d". It reports false
// for a word that means something else.
func (a Approval) ParseRemember(word string, now time.Time) (r *Remember, ok bool, err error) {
	number, end, _ := strings.Cut(strings.TrimSpace(word), " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return nil, false, nil
	}
	if n < 1 || n > len(a.Choices) {
		return nil, true, tool.Errorf("protocol.ParseRemember", tool.Invalid, "there is no choice %d", n)
	}
	until, err := ParseUntil(end, now)
	return &Remember{Choice: n, Until: until}, true, err
}

// ParseUntil reads an end date: a span from now, as 30d, or a day, as 2027-01-31,
// whose end is meant. Empty is no end.
func ParseUntil(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, nil
	}
	if span, ok := amount.ParseSpan(text); ok && span > 0 {
		return now.Add(span), nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return day.AddDate(0, 0, 1), nil
	}
	return time.Time{}, tool.Errorf("protocol.ParseUntil", tool.Invalid, "%q is not an end date", tool.Truncate(text)).
		WithHint("write it as 30d, 2w, 12h or 2027-01-31")
}
