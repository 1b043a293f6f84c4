package netguardtest

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// fakeDNS is a hostile name server. It invents the names below .test, and
// answers a name that the C library would read as an address with that address,
// as some resolvers do.
type fakeDNS struct {
	mu    sync.Mutex
	asked map[string]int // queries for rebinding names, by name and type
}

func (n *fakeDNS) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.asked)
}

func (n *fakeDNS) serve(conn net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		size, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if answer, err := n.answer(buf[:size]); err == nil {
			_, _ = conn.WriteTo(answer, from)
		}
	}
}

func (n *fakeDNS) answer(query []byte) ([]byte, error) {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: header.ID, Response: true, Authoritative: true, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q},
	}
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	addrs, known := n.lookup(name, q.Type)
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	owner := q.Name
	if strings.HasPrefix(name, "alias") {
		owner = dnsmessage.MustNewName("loop.test.")
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: dnsmessage.TypeCNAME, Class: q.Class},
			Body:   &dnsmessage.CNAMEResource{CNAME: owner},
		})
	}
	for _, a := range addrs {
		r := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: owner, Type: q.Type, Class: q.Class}}
		switch {
		case q.Type == dnsmessage.TypeA && a.Is4():
			r.Body = &dnsmessage.AResource{A: a.As4()}
		case q.Type == dnsmessage.TypeAAAA && a.Is6():
			r.Body = &dnsmessage.AAAAResource{AAAA: a.As16()}
		default:
			continue
		}
		m.Answers = append(m.Answers, r)
	}
	return m.Pack()
}

// fixedNames lists the names that always have the same addresses.
var fixedNames = map[string][]string{
	"public.test":    {Public4, Public6},
	"loop.test":      {"127.0.0.1", "::1"},
	"alias.test":     {"127.0.0.1"},
	"alias2.test":    {"127.0.0.1", "::1"},
	"link.test":      {"169.254.169.254"},
	"private.test":   {"10.0.0.1"},
	"unique.test":    {"fd00::1"},
	"mapped.test":    {"::ffff:127.0.0.1"},
	"mixed4.test":    {Public4, "127.0.0.1"},
	"mixed6.test":    {Public6, "::1"},
	"mixed46.test":   {Public4, "::1"},
	"nat64.test":     {"64:ff9b::7f00:1"},
	"sixtofour.test": {"2002:7f00:1::1"},
	"teredo.test":    {"2001:0:5bcf:1::80ff:fffe"},
	"zero.test":      {"0.0.0.0", "::"},
	"many.test":      {Public4, "93.184.216.35", "93.184.216.36", "192.168.1.1"},
	"a.localhost":    {"127.0.0.1"},
	"a.b.localhost":  {"127.0.0.1"},
}

func (n *fakeDNS) lookup(name string, kind dnsmessage.Type) ([]netip.Addr, bool) {
	if strings.HasPrefix(name, "rebind") {
		n.mu.Lock()
		defer n.mu.Unlock()
		key := name + kind.String()
		if n.asked[key]++; n.asked[key] == 1 {
			return addrs(Public4), true
		}
		return addrs("127.0.0.1", "::1"), true
	}
	if dotted, ok := strings.CutPrefix(strings.TrimSuffix(name, ".test"), "at-"); ok {
		return addrs(strings.ReplaceAll(dotted, "-", ".")), true
	}
	if dotted, ok := strings.CutPrefix(strings.TrimSuffix(name, ".test"), "at6-"); ok {
		return addrs("::ffff:" + strings.ReplaceAll(dotted, "-", ".")), true
	}
	if list, ok := fixedNames[name]; ok {
		return addrs(list...), true
	}
	if a, ok := aton(name); ok {
		return []netip.Addr{a}, true
	}
	return nil, false
}

func addrs(list ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range list {
		if a, err := netip.ParseAddr(text); err == nil {
			all = append(all, a)
		}
	}
	return all
}

// aton reads an address as the C library does: up to four parts, each decimal,
// octal after 0 or hexadecimal after 0x; the last part fills the remaining bytes.
func aton(name string) (netip.Addr, bool) {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var n uint64
	for i, part := range parts {
		v, err := strconv.ParseUint(part, 0, 64)
		if err != nil || strings.ContainsAny(part, "_boBO") {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if v > 255 {
				return netip.Addr{}, false
			}
			n |= v << (24 - 8*i)
			continue
		}
		n |= v & (1<<(32-8*i) - 1)
	}
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), true
}
