package netguardtest

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The addresses that count as public in the network.
const (
	Public4 = "93.184.216.34"
	Public6 = "2a00:1450:4001:800::200e"
)

// Network is the network of one test: a server at every address, on the ports
// 80, 443 and 8080, and a resolver.
type Network struct {
	Resolver *net.Resolver // asks the network's own name server
	names    *fakeDNS

	probes chan struct{} // one for each connection of settle

	mu      sync.Mutex
	reached []string // addresses, other than the public ones
	greeted int      // connections to the public addresses
}

// Words is the text that the server sends from every address.
const Words = "the canary sings"

// Run runs a test in a network of its own. It starts the test again in another
// process, in a new network namespace, and calls test there. On systems without
// such namespaces the test is skipped.
func Run(t *testing.T, test func(*Network)) {
	t.Helper()
	if !enterNamespace(t) {
		return
	}
	n := &Network{names: &fakeDNS{asked: map[string]int{}}, probes: make(chan struct{})}
	server, err := net.ListenPacket("udp", "127.0.0.1:5353")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go n.names.serve(server)
	n.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	for _, port := range ports {
		listener, err := net.Listen("tcp", ":"+port)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		s := &http.Server{Handler: http.HandlerFunc(answer), ErrorLog: log.New(discard{}, "", 0)}
		defer s.Close()
		go func() { _ = s.Serve(watchedListener{listener, n}) }()
	}
	test(n)
}

var ports = []string{"80", "443", "8080"}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// watchedListener notes the address that each connection was made to.
type watchedListener struct {
	net.Listener
	network *Network
}

// Accept waits for the next connection.
func (l watchedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.network.note(conn.LocalAddr().(*net.TCPAddr).AddrPort().Addr().Unmap().String())
	}
	return conn, err
}

// probeAddr is the address to which settle connects.
const probeAddr = "127.9.9.9"

func (n *Network) note(addr string) {
	if addr == probeAddr {
		n.probes <- struct{}{}
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if addr != Public4 && addr != Public6 {
		n.reached = append(n.reached, addr)
	} else {
		n.greeted++
	}
}

// settle waits until every connection so far has been noted. Connections are
// accepted in order, so it makes one more on each port and waits for that.
func (n *Network) settle() {
	for _, port := range ports {
		conn, err := net.Dial("tcp", probeAddr+":"+port)
		if err != nil {
			panic(err) // the network is broken
		}
		<-n.probes
		_ = conn.Close()
	}
}

// Reached returns the addresses, other than the public ones, to which
// connections were made since the last call.
func (n *Network) Reached() []string {
	n.settle()
	n.mu.Lock()
	defer n.mu.Unlock()
	reached := n.reached
	n.reached = nil
	slices.Sort(reached)
	return reached
}

// Greeted returns the number of connections to the public addresses since the
// last call.
func (n *Network) Greeted() int {
	n.settle()
	n.mu.Lock()
	defer n.mu.Unlock()
	greeted := n.greeted
	n.greeted = 0
	return greeted
}

// Forget makes the rebinding names public again.
func (n *Network) Forget() { n.names.forget() }

// Redirect returns a URL of the public server that redirects to location, after
// some redirects to the public server itself.
func Redirect(status int, location string, hops int) string {
	return fmt.Sprintf("http://public.test/redirect?status=%d&hops=%d&to=%s", status, hops, url.QueryEscape(location))
}

// answer sends a redirect, a page with a redirect, or Words.
func answer(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch r.URL.Path {
	case "/redirect":
		status, _ := strconv.Atoi(q.Get("status"))
		location := q.Get("to")
		if hops, _ := strconv.Atoi(q.Get("hops")); hops > 0 {
			q.Set("hops", strconv.Itoa(hops-1))
			location = "/redirect?" + q.Encode() // relative
			if hops%2 == 0 {
				location = "//public.test" + location
			}
		}
		w.Header()["Location"] = []string{strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(location)}
		w.WriteHeader(status)
	case "/meta":
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Refresh", "0; url="+q.Get("to"))
		fmt.Fprintf(w, `<meta http-equiv="refresh" content="0; url=%s">`, q.Get("to"))
	default:
		fmt.Fprintln(w, Words)
	}
}
