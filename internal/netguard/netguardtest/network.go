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

// The addresses that count as public in the world.
const (
	Public4 = "93.184.216.34"
	Public6 = "2a00:1450:4001:800::200e"
)

// Network is the network of one test: a server at every address, on the ports
// 80, 443 and 8080, and a resolver.
type Network struct {
	Resolver *net.Resolver // asks the world's own name server
	names    *fakeDNS

	settled chan struct{} // the world's own connections, as they are seen

	mu      sync.Mutex
	visits  []string // addresses, other than the public ones, that were reached
	greeted int      // connections to the public ones
}

// Words is what the server says everywhere, so that a test can look for it.
const Words = "the canary sings"

// Run runs a test in a world of its own. It starts the test again in another
// process, in a new network namespace, and there calls in; where namespaces
// are not to be had the test is skipped.
func Run(t *testing.T, in func(*Network)) {
	t.Helper()
	if !enter(t) {
		return
	}
	w := &Network{names: &fakeDNS{asked: map[string]int{}}, settled: make(chan struct{})}
	server, err := net.ListenPacket("udp", "127.0.0.1:5353")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go w.names.serve(server)
	w.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	for _, port := range ports {
		listener, err := net.Listen("tcp", ":"+port)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		s := &http.Server{Handler: http.HandlerFunc(w.answer), ErrorLog: log.New(discard{}, "", 0)}
		defer s.Close()
		go func() { _ = s.Serve(watched{listener, w}) }()
	}
	in(w)
}

var ports = []string{"80", "443", "8080"}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// watched notes where each connection was made to.
type watched struct {
	net.Listener
	world *Network
}

// Accept waits for the next connection.
func (l watched) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.world.note(conn.LocalAddr().(*net.TCPAddr).AddrPort().Addr().Unmap().String())
	}
	return conn, err
}

// own is where the world calls itself.
const own = "127.9.9.9"

func (w *Network) note(addr string) {
	if addr == own {
		w.settled <- struct{}{}
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if addr != Public4 && addr != Public6 {
		w.visits = append(w.visits, addr)
	} else {
		w.greeted++
	}
}

// settle waits until every connection that was made has been seen: they are
// accepted in their order, so it makes one more on each port.
func (w *Network) settle() {
	for _, port := range ports {
		conn, err := net.Dial("tcp", own+":"+port)
		if err != nil {
			panic(err) // the world is broken
		}
		<-w.settled
		_ = conn.Close()
	}
}

// Reached returns the addresses that connections were made to, other than the
// public ones, since it was last asked.
func (w *Network) Reached() []string {
	w.settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	visits := w.visits
	w.visits = nil
	slices.Sort(visits)
	return visits
}

// Greeted returns how many connections were made to the public addresses since
// it was last asked.
func (w *Network) Greeted() int {
	w.settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.greeted
	w.greeted = 0
	return n
}

// Forget makes the names that turn answer as if nobody had asked yet.
func (w *Network) Forget() { w.names.forget() }

// Redirect is a URL of the public server that answers with a redirect to
// location, after further hops of its own.
func Redirect(status int, location string, hops int) string {
	return fmt.Sprintf("http://public.test/redirect?status=%d&hops=%d&to=%s", status, hops, url.QueryEscape(location))
}

// answer redirects, shows a page that would, or says its words.
func (w *Network) answer(rw http.ResponseWriter, r *http.Request) {
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
		rw.Header()["Location"] = []string{strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(location)}
		rw.WriteHeader(status)
	case "/meta":
		rw.Header().Set("Content-Type", "text/html")
		rw.Header().Set("Refresh", "0; url="+q.Get("to"))
		fmt.Fprintf(rw, `<meta http-equiv="refresh" content="0; url=%s">`, q.Get("to"))
	default:
		fmt.Fprintln(rw, Words)
	}
}
