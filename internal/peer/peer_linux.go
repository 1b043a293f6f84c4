package peer

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

func of(c *net.UnixConn) (Peer, bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, false
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil || credErr != nil {
		return Peer{}, false
	}
	return Peer{PID: int(cred.Pid), UID: int(cred.Uid)}, true
}

// stat returns the fields of /proc/pid/stat that follow the command's name,
// which may itself hold spaces and parentheses.
func stat(pid int) ([][]byte, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, false
	}
	i := bytes.LastIndexByte(data, ')')
	if i < 0 {
		return nil, false
	}
	return bytes.Fields(data[i+1:]), true
}

func parent(pid int) (int, bool) {
	fields, ok := stat(pid) // state ppid pgrp session tty_nr …
	if !ok || len(fields) < 2 {
		return 0, false
	}
	ppid, err := strconv.Atoi(string(fields[1]))
	return ppid, err == nil
}

// AtTerminal reports whether the process has a controlling terminal.
func AtTerminal(pid int) bool {
	fields, ok := stat(pid)
	return ok && len(fields) >= 5 && string(fields[4]) != "0"
}
