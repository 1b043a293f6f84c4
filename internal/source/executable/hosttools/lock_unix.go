//go:build unix

package hosttools

import (
	"io"
	"os"
	"syscall"
)

// lock keeps other processes from asking on the same connection. Where that cannot be
// done, they are not kept from it, and each still knows its own answer.
func lock(conn *os.File) (unlock func()) {
	set := func(kind int16) {
		how := syscall.Flock_t{Type: kind, Whence: io.SeekStart}
		for syscall.FcntlFlock(conn.Fd(), syscall.F_SETLKW, &how) == syscall.EINTR {
		}
	}
	set(syscall.F_WRLCK)
	return func() { set(syscall.F_UNLCK) }
}

func isSocket(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeSocket != 0
}
