//go:build !unix

package mcphttp

import "net"

// canLook says that isEnded can tell.
const canLook = false

func isEnded(net.Conn) bool { return false }
