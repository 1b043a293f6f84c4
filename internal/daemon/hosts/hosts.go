// Package hosts says by which names requests over HTTP may call a server.
//
// Law: this machine's own names always, and those that were listed. A page that has its own name
// lead to this machine (DNS rebinding) sends that name, and is refused.
package hosts

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Allowed reports whether requests may be sent to a host, with or without a port.
func Allowed(hostport string, listed []string) bool {
	return IsLoopback(nameOf(hostport)) || IsListed(hostport, listed)
}

// IsListed is Allowed for the names that were listed, and for none of this machine's own.
func IsListed(hostport string, listed []string) bool {
	name := nameOf(hostport)
	is := func(s string) bool { return strings.EqualFold(s, name) }
	return name != "" && !IsLoopback(name) && slices.ContainsFunc(listed, is)
}

func nameOf(hostport string) string {
	name := hostport
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		name = host
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
}

// IsLoopback reports whether a name or an address is one of this machine's own, which no other can be
// reached by.
func IsLoopback(name string) bool {
	if name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}
