package statedir

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A kernel that was killed while it started a process, and that nobody has asked after, is
// still there, and that process has a copy of the lock's file for a moment: it is waited for.
func TestHoldWaitsForCopiesOfADeadHolder(t *testing.T) {
	t.Parallel()
	dir, err := At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	killed := exec.Command("sleep", "600")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = killed.Wait() })
	held, err := dir.Hold()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.lockFile(), []byte(strconv.Itoa(killed.Process.Pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Hold(); err == nil {
		t.Fatal("it is held though its holder lives")
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, killed.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = held.Release() }) // the copy
	again, err := dir.Hold()
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}
