//go:build !linux && !darwin

package peer

import "net"

func of(*net.UnixConn) (Peer, bool) { return Peer{}, false }

func parent(int) (int, bool) { return 0, false }

// AtTerminal reports whether the process has a controlling terminal. It is not
// known on this system.
func AtTerminal(int) bool { return false }
