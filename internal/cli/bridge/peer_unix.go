//go:build unix

package bridge

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// peerClosed reports whether the other end of a pipe or a socket is closed, so
// nobody reads what is written.
func peerClosed(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	closed := false
	err = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(fds, 0)
		closed = err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0
	})
	return err == nil && closed
}
