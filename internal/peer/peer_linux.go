package peer

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"

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
func stat(pid int) ([][]byte, bool) { return statAt(fmt.Sprintf("/proc/%d/stat", pid)) }

func statAt(path string) ([][]byte, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	i := bytes.LastIndexByte(data, ')')
	if i < 0 {
		return nil, false
	}
	return bytes.Fields(data[i+1:]), true
}

// startField is where the time of a process's start stands, after its name.
const startField = 19

// isPseudo reports whether a terminal is a pseudo-terminal, as the number of its
// device says: a window's, a multiplexer's, and not a console's.
func isPseudo(tty int) bool {
	const first, last = 136, 143
	major := tty >> 8 & 0xfff
	return first <= major && major <= last
}

func look(pid int) (process, bool) {
	fields, ok := stat(pid) // state ppid pgrp session tty_nr …
	if !ok || len(fields) < 5 {
		return process{}, false
	}
	ppid, err1 := strconv.Atoi(string(fields[1]))
	session, err2 := strconv.Atoi(string(fields[3]))
	tty, _ := strconv.Atoi(string(fields[4]))
	p := process{pid: pid, parent: ppid, session: session, terminal: tty != 0, pseudo: isPseudo(tty)}
	if len(fields) > startField {
		p.started, _ = strconv.ParseUint(string(fields[startField]), 10, 64)
	}
	return p, err1 == nil && err2 == nil
}

// program identifies the program that a process runs; empty if it is not known.
func program(pid int) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return ""
	}
	return path
}
