package netguard

import "net/netip"

// class is the class of an address, in words that complete "it is".
type class string

const (
	public     class = ""
	loopback   class = "a loopback address"
	private    class = "a private address"
	linkLocal  class = "a link-local address"
	metadata   class = "the metadata service of a cloud"
	multicast  class = "a multicast address"
	special    class = "an address set aside for special use"
	translated class = "a tunnel to an address that is not public"
	zoned      class = "an address with a zone"
	own        class = "an address of this machine"
)

// byName reports whether a rule that lists a name opens addresses of this class
// behind it.
func (c class) byName() bool { return c == loopback || c == private || c == own }

type block struct {
	prefix netip.Prefix
	class  class
}

// blocks lists the addresses that are not public, the narrowest first: the
// special-purpose registries of IANA, and the metadata services that clouds put
// elsewhere.
var blocks = []block{
	{netip.MustParsePrefix("169.254.169.254/32"), metadata},
	{netip.MustParsePrefix("169.254.170.0/24"), metadata}, // credentials of containers
	{netip.MustParsePrefix("100.100.100.200/32"), metadata},
	{netip.MustParsePrefix("192.0.0.192/32"), metadata},
	{netip.MustParsePrefix("168.63.129.16/32"), metadata},
	{netip.MustParsePrefix("fd00:ec2::/32"), metadata},
	{netip.MustParsePrefix("fd20:ce::254/128"), metadata},
	{netip.MustParsePrefix("0.0.0.0/8"), special}, // this machine, on most systems
	{netip.MustParsePrefix("10.0.0.0/8"), private},
	{netip.MustParsePrefix("100.64.0.0/10"), private}, // carriers, and overlay networks
	{netip.MustParsePrefix("127.0.0.0/8"), loopback},
	{netip.MustParsePrefix("169.254.0.0/16"), linkLocal},
	{netip.MustParsePrefix("172.16.0.0/12"), private},
	{netip.MustParsePrefix("192.0.0.0/24"), special},
	{netip.MustParsePrefix("192.0.2.0/24"), special}, // documentation
	{netip.MustParsePrefix("192.88.99.0/24"), special},
	{netip.MustParsePrefix("192.168.0.0/16"), private},
	{netip.MustParsePrefix("198.18.0.0/15"), special}, // benchmarks
	{netip.MustParsePrefix("198.51.100.0/24"), special},
	{netip.MustParsePrefix("203.0.113.0/24"), special},
	{netip.MustParsePrefix("224.0.0.0/4"), multicast},
	{netip.MustParsePrefix("240.0.0.0/4"), special}, // with the broadcast address
	{netip.MustParsePrefix("::1/128"), loopback},
	{netip.MustParsePrefix("fc00::/7"), private},
	{netip.MustParsePrefix("fe80::/10"), linkLocal},
	{netip.MustParsePrefix("fec0::/10"), private}, // site-local, deprecated
	{netip.MustParsePrefix("ff00::/8"), multicast},
	{netip.MustParsePrefix("2001:db8::/32"), special},
	{netip.MustParsePrefix("2001::/23"), special},
	{netip.MustParsePrefix("3fff::/20"), special},
}

// Prefixes of IPv6 that lead to addresses of IPv4.
var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour     = netip.MustParsePrefix("2002::/16")
	teredo        = netip.MustParsePrefix("2001::/32")
)

// classify returns the class of an address. If an IPv6 address embeds an IPv4
// address, both must be public. An IPv6 address outside the assigned range is
// not public, so that no new kind of address becomes public by being forgotten
// here.
func classify(addr netip.Addr) class {
	if addr.Zone() != "" {
		return zoned
	}
	addr = addr.Unmap()
	for _, v4 := range embedded(addr) {
		if classify(v4) != public {
			return translated
		}
	}
	if nat64.Contains(addr) || teredo.Contains(addr) {
		return public
	}
	for _, b := range blocks {
		if b.prefix.Contains(addr) {
			return b.class
		}
	}
	if addr.Is6() && !globalUnicast.Contains(addr) {
		return special
	}
	return public
}

// embedded returns the IPv4 addresses that an IPv6 address leads to.
func embedded(addr netip.Addr) []netip.Addr {
	if addr.Is4() {
		return nil
	}
	b := addr.As16()
	at := func(i int, mask byte) netip.Addr {
		return netip.AddrFrom4([4]byte{b[i] ^ mask, b[i+1] ^ mask, b[i+2] ^ mask, b[i+3] ^ mask})
	}
	switch {
	case nat64.Contains(addr):
		return []netip.Addr{at(12, 0)}
	case sixToFour.Contains(addr):
		return []netip.Addr{at(2, 0)}
	case teredo.Contains(addr): // the server, and the client behind it with its bits inverted
		return []netip.Addr{at(4, 0), at(12, 0xff)}
	case b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP
		return []netip.Addr{at(12, 0)}
	default:
		return nil
	}
}
