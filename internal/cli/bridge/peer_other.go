//go:build !unix

package bridge

import "io"

// peerClosed is not supported on this system and returns false.
func peerClosed(io.Writer) bool { return false }
