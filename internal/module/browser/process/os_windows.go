package process

import (
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

func asRoot() bool { return false }

func lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
}

// ownedByUser trusts that the temporary folder is the user's own, as it is here.
func ownedByUser(fs.FileInfo) bool { return true }

// passPipes names the handles of the pipes on the command line, as Chromium
// wants it where files have no numbers.
func passPipes(cmd *exec.Cmd, r, w *os.File) error {
	read, write := syscall.Handle(r.Fd()), syscall.Handle(w.Fd())
	cmd.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: []syscall.Handle{read, write}}
	for _, h := range []syscall.Handle{read, write} {
		if err := syscall.SetHandleInformation(h, syscall.HANDLE_FLAG_INHERIT, 1); err != nil {
			return err
		}
	}
	cmd.Args = slices.Insert(cmd.Args, 1, "--remote-debugging-io-pipes="+strconv.FormatUint(uint64(read), 10)+","+strconv.FormatUint(uint64(write), 10))
	return nil
}

// setProcessGroup has nothing to do: the browser ends by itself when its pipes close,
// which they do with us.
func setProcessGroup(*exec.Cmd) {}

func endGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
