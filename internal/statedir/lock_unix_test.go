//go:build unix

package statedir

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A process that is being started while the directory is released has a copy of the
// lock's file until it has replaced its program.
func TestReleaseDoesNotWaitForCopies(t *testing.T) {
	t.Parallel()
	dir, err := At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	held, err := dir.Hold()
	if err != nil {
		t.Fatal(err)
	}
	duplicate, err := unix.Dup(int(held.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(duplicate) })
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := dir.Hold()
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}
