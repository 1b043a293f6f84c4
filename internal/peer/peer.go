// Package peer identifies the process at the other end of a unix socket, its
// ancestors and its terminal. The approval queue relies on it: a yes must not come
// from the program that asked, from its terminal, or from what the kernel started.
package peer

import "net"

// Peer is the process at the other end of a connection. A zero PID means that
// the system does not know it.
type Peer struct {
	PID int
	UID int
}

// Of returns the process at the other end of c, and false for a connection that
// is not a unix socket, or on a system that does not identify it.
func Of(c net.Conn) (Peer, bool) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return Peer{}, false
	}
	return of(u)
}

// Lineage follows the parents of processes, as the system knows them now.
type Lineage struct{}

// maxGenerations bounds the search, should parents ever form a loop.
const maxGenerations = 4096

// Descends reports whether pid is from, or one of its descendants. A descendant
// whose parent has ended is not found: the system has given it another one.
func (Lineage) Descends(pid, from int) bool {
	if from <= 1 {
		return false // everything descends from the first process
	}
	for range maxGenerations {
		if pid == from {
			return true
		}
		if pid <= 1 {
			return false
		}
		p, ok := look(pid)
		if !ok || p.parent == pid {
			return false
		}
		pid = p.parent
	}
	return true
}
