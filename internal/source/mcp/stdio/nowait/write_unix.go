//go:build unix

package nowait

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// To returns the function that writes to w without waiting; nil if there is none. Nobody else may write to w meanwhile.
func To(w io.Writer) Write {
	c, ok := w.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil || !isNonblocking(raw) {
		return nil
	}
	return func(data []byte) (written int, err error) {
		failed := raw.Write(func(fd uintptr) bool {
			written, err = write(int(fd), data)
			return true
		})
		return written, errors.Join(failed, err)
	}
}

func write(fd int, data []byte) (int, error) {
	for {
		n, err := unix.Write(fd, data)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, unix.EAGAIN):
			return 0, nil
		case !errors.Is(err, unix.EINTR):
			return 0, err
		}
	}
}

// isNonblocking reports whether a write returns at once where nothing is taken.
func isNonblocking(raw syscall.RawConn) bool {
	flags := 0
	var err error
	failed := raw.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	return failed == nil && err == nil && flags&unix.O_NONBLOCK != 0
}
