package token

import (
	"fmt"
	"strings"
)

// processPrefix begins the ID of what stands for a process. No token has such an ID: those have letters and digits.
const processPrefix = "process:"

// OfProcess is the ID of what stands, in the place of a token, for a process of another machine: a request of that
// process comes over the network as one with a token does, and what it opened is its own.
func OfProcess(node string, pid int, started uint64) string {
	return fmt.Sprintf("%s%s:%d.%d", processPrefix, node, pid, started)
}

// IsProcessOf reports whether an ID stands for a process of a machine.
func IsProcessOf(id, node string) bool { return strings.HasPrefix(id, processPrefix+node+":") }

// IsProcess reports whether an ID stands for a process of another machine.
func IsProcess(id string) bool { return strings.HasPrefix(id, processPrefix) }
