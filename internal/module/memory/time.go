package memory

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

var errNoTime = errors.New("not a time")

// parseTime parses a date, a time, or how long ago. "" is the zero time. A date
// without a time is the start of the day or, as the end of a range, its end. A
// time without a zone is in the zone of the kernel.
func parseTime(text string, now time.Time, end bool) (time.Time, error) {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "":
		return time.Time{}, nil
	case "now":
		return now, nil
	case "today", "yesterday":
		day := now
		if strings.EqualFold(text, "yesterday") {
			day = now.AddDate(0, 0, -1)
		}
		text = day.Format(time.DateOnly)
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		if end {
			return day.AddDate(0, 0, 1).Add(-time.Nanosecond), nil
		}
		return day, nil
	}
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04",
	} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	ago, err := since(text)
	return now.Add(-ago), err
}

var units = map[byte]time.Duration{
	's': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour,
}

// since parses how long ago: 90m, 24h, 7d, 2w.
func since(text string) (time.Duration, error) {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, "-"), "ago"))
	if text == "" {
		return 0, errNoTime
	}
	unit, ok := units[text[len(text)-1]]
	n, err := strconv.ParseFloat(strings.TrimSpace(text[:len(text)-1]), 64)
	if !ok || err != nil || !(n >= 0) || n*float64(unit) > math.MaxInt64/2 {
		return 0, errNoTime
	}
	return time.Duration(n * float64(unit)), nil
}
