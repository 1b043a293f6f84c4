//go:build unix

package kernel_test

import (
	"syscall"
	"testing"
)

func makeFIFO(t *testing.T, path string) {
	t.Helper()
	ok(t, syscall.Mkfifo(path, 0o644))
}
