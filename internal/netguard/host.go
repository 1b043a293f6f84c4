package netguard

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"callgate/internal/weburl"
	"callgate/tool"
)

// parseHost reads a host without brackets and without a port. Names are first
// converted to ASCII as the transport does, so digits and dots of other scripts
// are plain ones when the name is checked.
func parseHost(host string) (destination, error) {
	const plainly = "write the address as four decimal numbers, or use the name"
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.Zone() != "" {
			return destination{}, refuse("%q is not an address that can be reached", tool.Truncate(host)).
				WithHint("write IPv6 addresses without a zone")
		}
		return destination{addr: addr}, nil
	}
	name, err := ascii(host)
	if err != nil {
		return destination{}, err
	}
	whole := strings.TrimSuffix(name, ".")
	if addr, err := netip.ParseAddr(name); err == nil {
		if !isASCII(host) {
			return destination{}, refuse("%q is the address %s in other letters", tool.Truncate(host), addr).WithHint(plainly)
		}
		return destination{addr: addr}, nil
	}
	last := whole[strings.LastIndexByte(whole, '.')+1:]
	if weburl.IsNumber(last) {
		return destination{}, refuse("%q is an address in an unusual spelling", tool.Truncate(host)).WithHint(plainly)
	}
	for label := range strings.SplitSeq(whole, ".") {
		if label == "" || len(label) > 63 {
			return destination{}, invalid("%q is not a host name", tool.Truncate(host))
		}
	}
	if len(whole) > 253 {
		return destination{}, invalid("%q is too long for a host name", tool.Truncate(host))
	}
	return destination{name: whole}, nil
}

// ascii converts a name to lower-case ASCII, and refuses characters that no host
// name has.
func ascii(host string) (string, error) {
	const most = 1024 // converting takes the square of the length
	if len(host) > most {
		return "", invalid("%q is too long for a host name", tool.Truncate(host))
	}
	name := host
	if !isASCII(host) {
		var err error
		if name, err = idna.Lookup.ToASCII(host); err != nil {
			return "", refuse("%q is not a host name: %v", tool.Truncate(host), err)
		}
	}
	name = strings.ToLower(name)
	for _, c := range []byte(name) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' {
			continue
		}
		return "", refuse("%q is not a host name: it holds %q", tool.Truncate(host), c).
			WithHint("a host name holds letters, digits, hyphens and dots")
	}
	if name == "" {
		return "", invalid("the host is empty")
	}
	return name, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isLocalhost reports whether a name always means this machine. Such names are
// never resolved.
func isLocalhost(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

func loopbacks() []netip.Addr {
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
}

// pattern is one host of the rules.
type pattern struct {
	all    bool
	below  bool // the names below name, not name itself
	name   string
	prefix netip.Prefix // of addresses; not valid for a name
	port   uint16       // 0: any
}

// Hosts is a list of hosts, written as in [Rules]. It says, for example, which
// hosts get a credential.
type Hosts struct{ patterns []pattern }

// ParseHosts reads a list of hosts.
func ParseHosts(texts []string) (Hosts, error) {
	var h Hosts
	for _, text := range texts {
		p, err := parsePattern(text)
		if err != nil {
			return Hosts{}, err
		}
		h.patterns = append(h.patterns, p)
	}
	return h, nil
}

// Has reports whether the host and the port of a URL are in the list.
func (h Hosts) Has(u *url.URL) bool {
	d, err := parseDestination(u.Hostname(), portOf(u))
	return err == nil && matches(h.patterns, d)
}

func parsePattern(text string) (pattern, error) {
	bad := func(hint string) (pattern, error) {
		return pattern{}, tool.Errorf(op+".New", tool.Invalid, "%q is not a host, an address or a prefix",
			tool.Truncate(text)).WithHint("%s", hint)
	}
	if strings.Contains(text, "://") {
		return bad("write the host alone, without http:// and without a path")
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
		}
		return pattern{prefix: prefix.Masked()}, nil
	}
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		return pattern{prefix: single(addr)}, nil
	}
	var p pattern
	host, port, found := cutPort(text)
	if found {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return bad("write a port from 1 to 65535 after the colon")
		}
		p.port = uint16(n)
	}
	if host == "*" {
		p.all = true
		return p, nil
	}
	host, p.below = strings.CutPrefix(host, "*.")
	d, err := parseHost(strings.Trim(host, "[]"))
	if err != nil || p.below && d.addr.IsValid() {
		return bad("examples: example.com, *.example.com, localhost:8080, 10.1.2.3, 10.1.0.0/16")
	}
	if p.name = d.name; d.addr.IsValid() {
		p.prefix = single(d.addr)
	}
	return p, nil
}

func cutPort(text string) (host, port string, found bool) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 || strings.HasSuffix(text, "]") {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

func single(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap()
	return netip.PrefixFrom(addr, addr.BitLen())
}

// matches reports whether a pattern covers a destination.
func matches(patterns []pattern, d destination) bool {
	for _, p := range patterns {
		if p.port != 0 && p.port != d.port {
			continue
		}
		switch {
		case p.all,
			d.addr.IsValid() && p.prefix.IsValid() && p.prefix.Contains(d.addr.Unmap()),
			d.name != "" && !p.below && d.name == p.name,
			d.name != "" && p.below && strings.HasSuffix(d.name, "."+p.name):
			return true
		}
	}
	return false
}

// listed reports whether a pattern lists an address as an address or a prefix; a
// star does not.
func listed(patterns []pattern, d destination) bool {
	for _, p := range patterns {
		if p.prefix.IsValid() && (p.port == 0 || p.port == d.port) && p.prefix.Contains(d.addr) {
			return true
		}
	}
	return false
}
