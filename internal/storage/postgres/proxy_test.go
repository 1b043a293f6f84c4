package postgres_test

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"testing"

	"callgate/internal/storage/postgres"
)

// fault is what a proxy does to the next COMMIT.
type fault string

const (
	none       fault = ""
	loseAnswer fault = "the answer is lost"  // the server has committed
	loseCommit fault = "COMMIT is lost"      // the server never hears of it
	holdBack   fault = "COMMIT is late"      // the server hears of it later
	goAway     fault = "the server is lost"  // the server has committed, and cannot be reached until back
	refuse     fault = "no connection works" // not even a new one, until back
)

// proxy stands between a driver and its server.
type proxy struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	then  func() // what happens when a COMMIT was lost, or is late
	next  fault
	hit   int // commits that were lost
	conns map[net.Conn]bool
}

// commitMessage is COMMIT as the driver sends it, in one piece.
var commitMessage = []byte("Q\x00\x00\x00\x0bCOMMIT\x00")

func newProxy(t *testing.T) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: server.Host(t), conns: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

// open opens a driver that reaches its server through the proxy.
func (p *proxy) open(t *testing.T) *postgres.DB {
	t.Helper()
	return p.openAt(t, server.Schema(t, schemaAt(t.TempDir())), node("n"))
}

// openAt is open for a node and a schema of the server.
func (p *proxy) openAt(t *testing.T, address string, n postgres.Node) *postgres.DB {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = p.listener.Addr().String()
	db, err := postgres.Open(t.Context(), u.String(), n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// onLoss has something happen when a COMMIT was lost, before its sender hears of it, or while it is held back.
func (p *proxy) onLoss(then func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.then = then
}

func (p *proxy) lost() {
	p.mu.Lock()
	then := p.then
	p.mu.Unlock()
	if then != nil {
		then()
	}
}

// set says what becomes of the next COMMIT, and returns how many were lost before.
func (p *proxy) set(next fault) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = next
	return p.hit
}

// take says what becomes of a COMMIT.
func (p *proxy) take() fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	is := p.next
	if p.next != none && p.next != refuse {
		p.hit++
		p.next = none
	}
	if is == goAway {
		p.next = refuse
	}
	return is
}

func (p *proxy) refuses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next == refuse
}

// cut ends every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) keep(c net.Conn, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if is {
		p.conns[c] = true
	} else {
		delete(p.conns, c)
	}
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	if p.refuses() {
		return
	}
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	p.keep(client, true)
	defer p.keep(client, false)
	answered := make(chan struct{}, 1) // the server answered while its answers are lost
	var mu sync.Mutex
	losing := false
	go func() {
		defer client.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			mu.Lock()
			lost := losing
			mu.Unlock()
			switch {
			case lost:
				answered <- struct{}{}
				return
			case err != nil:
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if bytes.Contains(buffer[:n], commitMessage) {
			switch p.take() {
			case loseCommit:
				_ = server.Close() // what the connection had begun is undone
				p.lost()
				return
			case holdBack:
				p.lost()
			case refuse:
				return
			case loseAnswer, goAway:
				mu.Lock()
				losing = true
				mu.Unlock()
				_, _ = server.Write(buffer[:n])
				<-answered
				p.lost()
				if p.refuses() {
					p.cut()
				}
				return
			}
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}
