package netguard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"callgate/tool"
)

const (
	dialTimeout = 15 * time.Second
	headStart   = 250 * time.Millisecond // of one address before the next is tried beside it
)

// DialContext connects as [net.Dialer.DialContext] does, if the guard allows it.
// The network is tcp, tcp4 or tcp6.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, refuse("connections of the kind %q are not made", tool.Truncate(network))
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, invalid("%q is not a host and a port", tool.Truncate(address))
	}
	d, err := parseDestination(host, port)
	if err != nil {
		return nil, err
	}
	if err := g.checkHost(d); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addrs, err := g.resolve(ctx, network, d)
	if err != nil {
		return nil, err
	}
	return g.dialFirst(ctx, network, d, addrs)
}

// resolve returns the addresses of a destination. Every one of them is checked.
func (g *Guard) resolve(ctx context.Context, network string, d destination) ([]netip.Addr, error) {
	switch {
	case d.addr.IsValid():
		return []netip.Addr{d.addr}, nil
	case isLocalhost(d.name):
		return g.reachable(d, loopbacks()), nil
	}
	addrs, err := g.resolver.LookupNetIP(ctx, "ip"+network[len("tcp"):], d.name)
	if err != nil {
		return nil, unresolved(d, err)
	}
	for i, addr := range addrs {
		if err := g.checkAddr(d, addr); err != nil {
			return nil, err
		}
		addrs[i] = addr.Unmap()
	}
	if len(addrs) == 0 {
		return nil, unresolved(d, nil)
	}
	return addrs, nil
}

// unresolved is the error of a name without an address.
func unresolved(d destination, err error) error {
	e := &tool.Error{
		Op: op, Kind: tool.NotFound, Err: err,
		Message: "the host " + d.name + " has no address", Hint: "check the name of the host",
	}
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &dns) && !dns.IsNotFound:
		e.Kind, e.Message, e.Hint = tool.Failed, "the host "+d.name+" could not be looked up", "try again in a moment"
	}
	return e
}

// dialFirst dials the addresses in order, each with a head start on the next, and
// returns the first connection. IPv4 and IPv6 alternate, so that a machine
// without one of them loses little time. Later connections are closed, and every
// dial ends with the call.
func (g *Guard) dialFirst(ctx context.Context, network string, d destination, addrs []netip.Addr) (net.Conn, error) {
	addrs = interleave(addrs)
	if len(addrs) == 1 {
		return g.dial(ctx, network, d, addrs[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		conn net.Conn
		err  error
	}
	outcomes := make(chan outcome)
	start := func(addr netip.Addr) {
		conn, err := g.dial(ctx, network, d, addr)
		select {
		case outcomes <- outcome{conn, err}:
		case <-ctx.Done():
			if conn != nil {
				_ = conn.Close()
			}
		}
	}
	var failures []error
	timer := time.NewTimer(0)
	defer timer.Stop()
	for next := 0; ; {
		select {
		case o := <-outcomes:
			if o.err == nil {
				return o.conn, nil
			}
			if failures = append(failures, o.err); len(failures) == len(addrs) {
				return nil, failures[0]
			}
			timer.Reset(0)
		case <-timer.C:
			if next < len(addrs) {
				go start(addrs[next])
				next++
				timer.Reset(headStart)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// interleave alternates IPv4 and IPv6 addresses, beginning with the kind of the
// first.
func interleave(addrs []netip.Addr) []netip.Addr {
	var first, second []netip.Addr
	for _, a := range addrs {
		if a.Is4() == addrs[0].Is4() {
			first = append(first, a)
		} else {
			second = append(second, a)
		}
	}
	out := make([]netip.Addr, 0, len(addrs))
	for i := range max(len(first), len(second)) {
		if i < len(first) {
			out = append(out, first[i])
		}
		if i < len(second) {
			out = append(out, second[i])
		}
	}
	return out
}

// dial connects to one checked address, and checks the address of the socket
// itself just before it connects.
func (g *Guard) dial(ctx context.Context, network string, d destination, addr netip.Addr) (net.Conn, error) {
	dialer := net.Dialer{
		KeepAlive: 30 * time.Second,
		Control: func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil || to.Port() != d.port {
				return refuse("the socket leads to %q, which was not asked for", tool.Truncate(address))
			}
			return g.checkAddr(d, to.Addr())
		},
	}
	conn, err := dialer.DialContext(ctx, network, netip.AddrPortFrom(addr, d.port).String())
	var refused *tool.Error
	if errors.As(err, &refused) {
		return nil, refused
	}
	return conn, err
}
