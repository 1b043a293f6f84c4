//go:build unix

package process

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func asRoot() bool { return os.Geteuid() == 0 }

func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

func ownedByUser(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// passPipes gives the browser the ends that it reads and writes, as its files 3 and 4.
func passPipes(cmd *exec.Cmd, r, w *os.File) error {
	cmd.ExtraFiles = []*os.File{r, w}
	return nil
}

// endGroup kills the browser and the children that stayed in its group.
func endGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Process.Kill()
}
