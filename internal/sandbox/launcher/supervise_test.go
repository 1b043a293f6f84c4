//go:build linux

package launcher

import (
	"testing"
	"time"
)

// TestPauseStaysShort checks a run soon again that took long to check: it may be one with too
// many processes.
func TestPauseStaysShort(t *testing.T) {
	const never = 1<<63 - 1
	for _, test := range []struct{ first, took, want time.Duration }{
		{watchEvery, time.Millisecond, watchEvery},
		{watchEvery, 10 * time.Millisecond, 500 * time.Millisecond},
		{watchEvery, 3 * time.Second, 2 * time.Second},
		{2 * time.Second, 0, 2 * time.Second},
		{never, time.Second, never},
	} {
		if got := nextPause(test.first, test.took); got != test.want {
			t.Errorf("after %v the pause is %v, want %v", test.took, got, test.want)
		}
	}
}
