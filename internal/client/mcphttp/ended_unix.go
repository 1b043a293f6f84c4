//go:build unix

package mcphttp

import (
	"net"
	"syscall"
)

// canLook says that isEnded can tell.
const canLook = true

// isEnded reports whether the other side has closed a connection, over which it has said nothing that was not read.
func isEnded(c net.Conn) (ended bool) {
	of, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) {
		var next [1]byte
		n, _, err := syscall.Recvfrom(int(fd), next[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		ended = n == 0 && err == nil || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
	})
	return ended || err != nil
}
