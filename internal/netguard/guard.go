// Package netguard makes the network connections of tools. It allows addresses
// that are public, and those that the rules list.
//
// A model can be talked into fetching any address, and the machine that fetches
// sees more than the model should: services on its loopback, its neighbours, the
// metadata server of its cloud. The guard checks where a connection really goes,
// not how the address is written.
//
// # Law
//
//  1. A URL is checked before anything is resolved ([Guard.Check]): its scheme,
//     its host against the host rules, and an address in it. An address must be
//     written plainly; 2130706433, 0x7f.1 and 127.1 are refused whatever they
//     would mean, because programs read them differently.
//  2. A name is resolved once, here, and every address it has is checked. One
//     forbidden address refuses the name, so an answer that mixes public and
//     private addresses opens nothing.
//  3. The checked address itself is dialled; the name is not resolved again.
//     The address of the socket is checked once more as it connects.
//  4. A redirect is a new URL, and begins at 1.
//  5. Private addresses are reached only if the rules list them. A name or a
//     pattern opens the loopback and private addresses behind it; metadata
//     services, link-local and other special addresses open only when they are
//     listed as an address or a prefix, because the owner of a name could point
//     it there.
package netguard

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"callgate/tool"
)

const op = "netguard"

// Rules say what may be reached. The zero value allows everything public and
// nothing else.
//
// A host is a name (example.com), a pattern for the names below one
// (*.example.com, which is not example.com itself), an address (192.0.2.7,
// 2001:db8::7), a prefix (10.1.0.0/16), or * for all of them. A port may follow:
// localhost:8080, [::1]:8080.
type Rules struct {
	AllowedHosts []string // only these, unless empty
	DeniedHosts  []string // never these, whatever else allows them
	Private      []string // these although they are not public
	Ports        []int    // only these, unless empty
	// Downgrade allows redirects from https to http.
	Downgrade bool
	// Stay refuses redirects to another destination than the one that was asked, but for
	// the same host with TLS. It is for addresses that a person gave and no call names.
	Stay bool
	// Setting is where an app file gives these rules, for the hints of
	// refusals; "" is tools.modules.http.constraints.
	Setting string
	// Hint is the hint of refusals of addresses that are not public, where no
	// setting of the app file opens them; "" names the setting.
	Hint string
	// Interfaces lists the addresses of this machine, which then are not public,
	// whatever they are: its services may trust who comes from it. Nil asks nobody.
	Interfaces func() ([]net.Addr, error)
	// Resolver resolves names; nil is the system's.
	Resolver Resolver
}

// Resolver resolves names, as [net.Resolver] does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Guard checks destinations against one set of rules. It is safe for concurrent
// use.
type Guard struct {
	allowed, denied, private []pattern
	ports                    []int
	downgrade, stay          bool
	setting, hint            string
	interfaces               func() ([]net.Addr, error)
	resolver                 Resolver
}

// New returns a guard for some rules.
func New(r Rules) (*Guard, error) {
	g := &Guard{
		ports: slices.Clone(r.Ports), downgrade: r.Downgrade, stay: r.Stay, setting: r.Setting, hint: r.Hint,
		interfaces: r.Interfaces, resolver: r.Resolver,
	}
	if g.setting == "" {
		g.setting = "tools.modules.http.constraints"
	}
	if g.resolver == nil {
		g.resolver = net.DefaultResolver
	}
	for _, list := range []struct {
		texts []string
		into  *[]pattern
	}{{r.AllowedHosts, &g.allowed}, {r.DeniedHosts, &g.denied}, {r.Private, &g.private}} {
		hosts, err := ParseHosts(list.texts)
		if err != nil {
			return nil, err
		}
		*list.into = hosts.patterns
	}
	for _, port := range r.Ports {
		if port < 1 || port > 65535 {
			return nil, tool.Errorf(op+".New", tool.Invalid, "%d is not a port", port).WithHint("ports are from 1 to 65535")
		}
	}
	return g, nil
}

// Check checks a URL as far as is possible before its host is resolved. A nil
// error does not mean that the URL may be reached: the guard checks again when
// it connects.
func (g *Guard) Check(u *url.URL) error {
	_, err := g.destination(u)
	return err
}

// destination returns where a URL leads, and an error if the guard refuses it.
func (g *Guard) destination(u *url.URL) (destination, error) {
	if u == nil {
		return destination{}, invalid("there is no URL")
	}
	var port string
	switch strings.ToLower(u.Scheme) {
	case "http", "ws":
		port = "80"
	case "https", "wss":
		port = "443"
	case "":
		return destination{}, invalid("%q has no scheme", tool.Truncate(u.Redacted())).WithHint("begin it with https://")
	default:
		return destination{}, refuse("the scheme %s is not supported", tool.Truncate(u.Scheme)).
			WithHint("use an http or https URL")
	}
	switch {
	case u.User != nil:
		return destination{}, refuse("the URL holds a user name before its host %q, which hides where it leads",
			tool.Truncate(u.Host)).WithHint("leave it out; credentials go into an Authorization header")
	case u.Opaque != "", u.Host == "":
		return destination{}, invalid("%q has no host", tool.Truncate(u.Redacted())).WithHint("write it as https://host/path")
	}
	host := u.Hostname()
	if strings.Contains(host, ":") && !strings.HasPrefix(u.Host, "[") {
		return destination{}, invalid("%q is not a host", tool.Truncate(u.Host)).
			WithHint("write an IPv6 address in brackets: http://[2001:db8::7]/")
	}
	if p := u.Port(); p != "" {
		port = p
	}
	d, err := parseDestination(host, port)
	if err != nil {
		return destination{}, err
	}
	return d, g.checkHost(d)
}

// checkHost checks a destination against the host rules and, if it is an address
// or a name that is always local, against the rules for addresses.
func (g *Guard) checkHost(d destination) error {
	switch {
	case matches(g.denied, d):
		return refuse("%s is a denied host", d).WithHint("the app file denies it: %s.denied_hosts", g.setting)
	case len(g.allowed) > 0 && !matches(g.allowed, d):
		return refuse("%s is not among the allowed hosts", d).
			WithHint("the app file may allow it: %s.allowed_hosts", g.setting)
	case len(g.ports) > 0 && !slices.Contains(g.ports, int(d.port)):
		return refuse("port %d is not among the allowed ports", d.port).
			WithHint("the app file may allow it: %s.allowed_ports", g.setting)
	case d.addr.IsValid():
		return g.checkAddr(d, d.addr)
	case isLocalhost(d.name) && len(g.reachable(d, loopbacks())) == 0:
		return g.notPublic(d, loopbacks()[0], loopback)
	}
	return nil
}

// checkAddr checks one address of a destination.
func (g *Guard) checkAddr(d destination, addr netip.Addr) error {
	at := destination{addr: addr.Unmap(), port: d.port}
	if matches(g.denied, at) {
		return refuse("%s, at %s, is denied", d, at.addr).WithHint("the app file denies it: %s.denied_hosts", g.setting)
	}
	class := g.classify(addr)
	if class == public || addr.Zone() == "" && listed(g.private, at) || class.byName() && matches(g.private, d) {
		return nil
	}
	return g.notPublic(d, addr, class)
}

// classify returns the class of an address. The addresses of this machine that
// would be public are asked for each time, because they change; if they are not
// to be had, any address could be one.
func (g *Guard) classify(addr netip.Addr) class {
	c := classify(addr)
	if c != public || g.interfaces == nil {
		return c
	}
	list, err := g.interfaces()
	for _, a := range list {
		if prefix, parseErr := netip.ParsePrefix(a.String()); parseErr == nil && prefix.Addr().Unmap() == addr.Unmap() {
			return own
		}
	}
	if err != nil {
		return own
	}
	return public
}

// notPublic is the error of an address that the rules would have to list.
func (g *Guard) notPublic(d destination, addr netip.Addr, class class) error {
	what := addr.String()
	if !d.addr.IsValid() {
		what = d.String() + ", at " + what + ","
	}
	e := refuse("%s is %s, not public", what, class)
	if g.hint != "" {
		return e.WithHint("%s", g.hint)
	}
	if class.byName() {
		return e.WithHint("the app file may allow it: %s.private_hosts", g.setting)
	}
	return e.WithHint("the app file may allow it, by its address: %s.private_hosts", g.setting)
}

// reachable returns the addresses that are not refused.
func (g *Guard) reachable(d destination, addrs []netip.Addr) []netip.Addr {
	return slices.DeleteFunc(addrs, func(a netip.Addr) bool { return g.checkAddr(d, a) != nil })
}

func refuse(format string, args ...any) *tool.Error {
	return tool.Errorf(op, tool.Denied, format, args...)
}

func invalid(format string, args ...any) *tool.Error {
	return tool.Errorf(op, tool.Invalid, format, args...)
}

// destination is a host and a port in canonical form. The host is an address, or
// a name in lower-case ASCII without a dot at its end.
type destination struct {
	name string     // "" for an address
	addr netip.Addr // not valid for a name
	port uint16
}

// String returns the host.
func (d destination) String() string {
	if d.addr.IsValid() {
		return d.addr.String()
	}
	return d.name
}

func parseDestination(host, port string) (destination, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return destination{}, invalid("%q is not a port", tool.Truncate(port)).WithHint("ports are from 1 to 65535")
	}
	d, err := parseHost(host)
	d.port = uint16(n)
	return d, err
}
