package peer

import (
	"net"

	"golang.org/x/sys/unix"
)

// Reported says whether this system reports which process is at the other end of a
// connection.
const Reported = true

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

func look(pid int) (process, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return process{}, false
	}
	session, err := unix.Getsid(pid)
	if err != nil {
		return process{}, false
	}
	terminal := k.Eproc.Tdev != -1 && k.Eproc.Tdev != 0
	began := k.Proc.P_starttime
	return process{
		pid: pid, parent: int(k.Eproc.Ppid), session: session, terminal: terminal, pseudo: terminal,
		started: uint64(began.Sec)*1e6 + uint64(began.Usec),
	}, true
}

// program identifies the program that a process runs. It is not asked for here.
func program(int) string { return "" }
