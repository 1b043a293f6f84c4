package amount

import (
	"strconv"
	"strings"
	"time"
)

// maxSpan is a century. A span that does not fit a duration would be negative.
const maxSpan = 36500 * 24 * time.Hour

// ParseSpan reads a span of time as people write it: 30d, 2w, 12h, or what
// time.ParseDuration reads.
func ParseSpan(text string) (span time.Duration, ok bool) {
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			n, err := strconv.ParseUint(number, 10, 32)
			if err != nil || n > uint64(maxSpan/unit) {
				return 0, false
			}
			return time.Duration(n) * unit, true
		}
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}
