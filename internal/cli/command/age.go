package command

import (
	"time"

	"callgate/internal/amount"
	"callgate/tool"
)

// ParseAge reads 30d, 2w, 12h or what time.ParseDuration reads.
func ParseAge(age string) (time.Duration, error) {
	d, ok := amount.ParseSpan(age)
	if !ok {
		return 0, tool.Errorf("cli", tool.Invalid, "%q is not an age", tool.Truncate(age)).
			WithHint("write it as 30d, 2w or 12h")
	}
	return d, nil
}
