package peer

import (
	"net"

	"golang.org/x/sys/unix"
)

func of(c *net.UnixConn) (Peer, bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, false
	}
	var p Peer
	var callErr error
	if err := raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			callErr = err
			return
		}
		pid, err := unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		p, callErr = Peer{PID: pid, UID: int(cred.Uid)}, err
	}); err != nil || callErr != nil {
		return Peer{}, false
	}
	return p, true
}

func parent(pid int) (int, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, false
	}
	return int(k.Eproc.Ppid), true
}

// AtTerminal reports whether the process has a controlling terminal.
func AtTerminal(pid int) bool {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && k.Eproc.Tdev != -1 && k.Eproc.Tdev != 0
}
