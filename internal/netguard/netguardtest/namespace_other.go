//go:build !linux

package netguardtest

import "testing"

// enterNamespace skips the test: only Linux has network namespaces.
func enterNamespace(t *testing.T) bool {
	t.Helper()
	t.Skip("a test can have a network of its own only on Linux")
	return false
}
