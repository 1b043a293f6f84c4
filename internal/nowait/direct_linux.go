//go:build linux && !race

package nowait

import (
	"syscall"
	"unsafe"
)

// read and write ask the system without telling the scheduler.

func read(fd int, p []byte) (int, syscall.Errno) { return ask(syscall.SYS_READ, fd, p) }

func write(fd int, p []byte) (int, syscall.Errno) { return ask(syscall.SYS_WRITE, fd, p) }

func ask(what uintptr, fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(what, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}
