package command

import (
	"strconv"
	"strings"
	"time"

	"callgate/tool"
)

// maxAge is a century. An age that does not fit a duration would be negative, and
// prune records of today.
const maxAge = 36500 * 24 * time.Hour

// ParseAge reads 30d, 2w, 12h or what time.ParseDuration reads.
func ParseAge(age string) (time.Duration, error) {
	bad := tool.Errorf("cli", tool.Invalid, "%q is not an age", tool.Truncate(age)).
		WithHint("write it as 30d, 2w or 12h")
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(age, suffix); ok {
			n, err := strconv.ParseUint(number, 10, 32)
			if err != nil || n > uint64(maxAge/unit) {
				return 0, bad
			}
			return time.Duration(n) * unit, nil
		}
	}
	d, err := time.ParseDuration(age)
	if err != nil || d < 0 {
		return 0, bad
	}
	return d, nil
}
