// Package peer identifies the process at the other end of a unix socket, and its
// ancestors. The approval queue relies on it: an answer must not come from a
// process that the asking session, or the kernel, has started.
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
		next, ok := parent(pid)
		if !ok || next == pid {
			return false
		}
		pid = next
	}
	return true
}
