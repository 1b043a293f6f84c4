package netproxy

import (
	"slices"
	"strings"
)

// Signs of programs that looked for the network without its proxy, and of those
// that looked for a server of this machine.
var (
	noNetwork = []string{
		"Could not resolve host", "Temporary failure in name resolution", "Network is unreachable",
		"network is unreachable", "no such host", "EAI_AGAIN", "ENETUNREACH", "getaddrinfo", "server misbehaving",
		"Name or service not known",
	}
	noServer = []string{"Connection refused", "connection refused", "ECONNREFUSED", "Failed to connect to"}
)

// Hint explains the failure of a run that has the network through a proxy alone:
// by what the proxy refused last, or else by what the run printed. It is "" when
// neither is a sign of the network. open says how a human gives the whole network.
func Hint(refused error, printed, open string) string {
	says := func(signs []string) bool {
		return slices.ContainsFunc(signs, func(s string) bool { return strings.Contains(printed, s) })
	}
	switch {
	case refused != nil && strings.Contains(refused.Error(), "loopback"):
		return "the network guard refused a connection: " + refused.Error() +
			"; a server of the command's own is reached with NO_PROXY=localhost,127.0.0.1"
	case refused != nil:
		return "the network guard refused a connection: " + refused.Error()
	case says(noNetwork):
		return "the network is reached only through the proxy that HTTPS_PROXY names, and this program did not use it; " +
			open
	case says(noServer):
		return "localhost is the command's own here, not this machine's; " + open
	}
	return ""
}
