//go:build !linux

package netguardtest

import "testing"

// enter skips: network namespaces are a thing of Linux.
func enter(t *testing.T) bool {
	t.Helper()
	t.Skip("a network of its own can be made only on Linux")
	return false
}
