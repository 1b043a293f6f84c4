package limits

import (
	"slices"
	"time"

	"callgate/tool"
)

// Retry bounds how often a call that failed is made again. Only read-only and idempotent tools are repeated.
type Retry struct {
	Attempts int           // in all; less than two: none
	Backoff  time.Duration // before the second; it doubles
	On       []tool.Kind   // the failures that may pass
}

// Covers reports whether a failure may pass. No answer is what a server that is unavailable or too slow gives: of a
// tool for which twice is once, it is retried like them.
func (r Retry) Covers(kind tool.Kind) bool {
	return slices.Contains(r.On, kind) || kind == tool.InDoubt &&
		(slices.Contains(r.On, tool.Unavailable) || slices.Contains(r.On, tool.Timeout))
}
