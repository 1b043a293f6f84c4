//go:build unix

package daemon_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"callgate/internal/daemon"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
)

// A kernel leaves no core file, and none goes to the program of core_pattern: its memory holds secrets.
func TestNoCore(t *testing.T) {
	d, err := daemon.Start(t.Context(), kernel.Config{State: kerneltest.StateDir(t)})
	kerneltest.OK(t, err)
	kerneltest.OK(t, d.Stop())
	var limit unix.Rlimit
	kerneltest.OK(t, unix.Getrlimit(unix.RLIMIT_CORE, &limit))
	if limit.Cur > 1 || limit.Max > 1 {
		t.Errorf("a core may have %d bytes, and may be allowed %d", limit.Cur, limit.Max)
	}
}
