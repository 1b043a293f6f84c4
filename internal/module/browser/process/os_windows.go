package process

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"golang.org/x/sys/windows"
)

func asRoot() bool { return false }

func lock(f *os.File) error {
	const exclusive = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), exclusive, 0, 1, 0, new(windows.Overlapped))
}

// ownedByUser trusts that the temporary folder is the user's own, as it is on Windows.
func ownedByUser(fs.FileInfo) bool { return true }

// passPipes names the handles of the pipes on the command line, as Chromium expects where
// files have no numbers.
func passPipes(cmd *exec.Cmd, r, w *os.File) error {
	read, write := syscall.Handle(r.Fd()), syscall.Handle(w.Fd())
	cmd.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: []syscall.Handle{read, write}}
	for _, h := range []syscall.Handle{read, write} {
		if err := syscall.SetHandleInformation(h, syscall.HANDLE_FLAG_INHERIT, 1); err != nil {
			return err
		}
	}
	cmd.Args = slices.Insert(cmd.Args, 1, fmt.Sprintf("--remote-debugging-io-pipes=%d,%d", read, write))
	return nil
}

// setProcessGroup does nothing: the browser exits when its pipes close, which they do when
// this process ends.
func setProcessGroup(*exec.Cmd) {}

func endGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
