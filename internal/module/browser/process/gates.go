package process

import (
	"fmt"
	"io"
	"net"
	"sync"

	"callgate/internal/sandbox/netproxy"
)

// gates lead a browser that has a network of its own to proxies of this machine. Each
// proxy has an address of the loopback there, all with one port, at which one listener
// serves; the address that a connection was made to says which proxy it is for.
type gates struct {
	mu      sync.Mutex
	opened  uint32
	proxies map[string]string // by the address inside
	conns   map[net.Conn]struct{}
	closed  bool
}

func newGates() *gates {
	return &gates{opened: 1, proxies: map[string]string{}, conns: map[net.Conn]struct{}{}}
}

// open gives a proxy an address inside, until leave is called.
func (g *gates) open(proxy string) (addr string, leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened++ // 127.0.0.2 is the first
	ip := net.IPv4(127, byte(g.opened>>16), byte(g.opened>>8), byte(g.opened)).String()
	g.proxies[ip] = proxy
	return fmt.Sprintf("%s:%d", ip, netproxy.Port), func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.proxies, ip)
	}
}

// serve leads connections to their proxies, until stop is called, which ends them all.
func (g *gates) serve(l net.Listener) (stop func()) {
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { g.lead(conn) })
		}
	})
	return func() {
		_ = l.Close()
		g.mu.Lock()
		g.closed = true
		for conn := range g.conns {
			_ = conn.Close()
		}
		g.mu.Unlock()
		work.Wait()
	}
}

// lead copies between a connection and its proxy, until either ends.
func (g *gates) lead(conn net.Conn) {
	defer conn.Close()
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	if err != nil {
		return
	}
	g.mu.Lock()
	proxy, ok := g.proxies[host]
	g.mu.Unlock()
	if !ok {
		return
	}
	out, err := net.Dial("tcp", proxy)
	if err != nil {
		return
	}
	defer out.Close()
	if !g.add(conn, out) {
		return
	}
	defer g.remove(conn, out)
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(conn, out)
		_, _ = conn.Close(), out.Close()
	})
	_, _ = io.Copy(out, conn)
	_ = out.(*net.TCPConn).CloseWrite()
	back.Wait()
}

// add notes connections that stop closes; false when it was called already.
func (g *gates) add(conns ...net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, conn := range conns {
		g.conns[conn] = struct{}{}
	}
	return !g.closed
}

func (g *gates) remove(conns ...net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, conn := range conns {
		delete(g.conns, conn)
	}
}
