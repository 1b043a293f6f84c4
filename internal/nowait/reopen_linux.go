package nowait

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Reopen opens a pipe again that this process was given, so that it is polled; nil if f is none, or is polled. What
// other processes have of the pipe stays as it is: to have f itself polled would change it for all who share it.
// f must be kept open.
func Reopen(f *os.File) *os.File {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	var flags int
	var stat unix.Stat_t
	path := ""
	failed := raw.Control(func(fd uintptr) {
		if flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0); err == nil {
			err = unix.Fstat(int(fd), &stat)
		}
		path = "/proc/self/fd/" + strconv.Itoa(int(fd))
	})
	if failed != nil || err != nil || flags&unix.O_NONBLOCK != 0 || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil
	}
	again, err := os.OpenFile(path, flags&unix.O_ACCMODE|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil // a pipe of another user, or one whose other end is gone
	}
	return again
}
