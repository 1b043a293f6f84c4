//go:build !race

package relay_test

import (
	"testing"

	"callgate/internal/client/relay"
)

// The limit that holds if none is named. The race detector makes a minute of it, and
// TestTooLong has the same with a small one.
func TestTooLongByDefault(t *testing.T) {
	t.Parallel()
	tooLong(t, relay.Options{}, 64<<20, "64 MiB")
}
