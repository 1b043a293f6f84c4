//go:build unix

package nowait

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// To returns the function that writes to w without waiting; nil if there is none. Nobody else may write to w meanwhile.
func To(w io.Writer) Write {
	raw := polled(w)
	if raw == nil {
		return nil
	}
	return func(data []byte) (written int, err error) {
		failed := raw.Write(func(fd uintptr) bool {
			written, err = writeAll(int(fd), data)
			return true
		})
		return written, errors.Join(failed, err)
	}
}

// writeAll writes until all is written, or no more is taken.
func writeAll(fd int, data []byte) (written int, err error) {
	for written < len(data) {
		n, errno := write(fd, data[written:min(len(data), written+maxOnce)])
		switch {
		case errno == 0:
			written += n
		case errno == unix.EAGAIN:
			return written, nil
		case errno != unix.EINTR:
			return written, errno
		}
	}
	return written, nil
}

// Reader returns a reader of r. Only one goroutine may read from it.
func Reader(r io.Reader) io.Reader {
	raw := polled(r)
	if raw == nil {
		return r
	}
	return newReader(raw)
}

type reader struct {
	raw  syscall.RawConn
	once func(fd uintptr) bool // reads once; made once, not for each read

	buf   []byte
	n     int
	errno syscall.Errno
}

func newReader(raw syscall.RawConn) *reader {
	r := &reader{raw: raw}
	r.once = func(fd uintptr) bool {
		for {
			r.n, r.errno = read(int(fd), r.buf)
			if r.errno != unix.EINTR {
				return r.errno != unix.EAGAIN // else it waits until there is something, and reads again
			}
		}
	}
	return r
}

func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	r.buf = p[:min(len(p), maxOnce)]
	err := r.raw.Read(r.once)
	r.buf = nil
	switch {
	case err != nil:
		return 0, err
	case r.errno != 0:
		return 0, os.NewSyscallError("read", r.errno)
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// polled returns the connection beneath v if its system calls return at once; nil if they may wait.
func polled(v any) syscall.RawConn {
	c, ok := v.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	flags := 0
	failed := raw.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	if failed != nil || err != nil || flags&unix.O_NONBLOCK == 0 {
		return nil
	}
	return raw
}
