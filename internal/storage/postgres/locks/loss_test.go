package locks_test

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"callgate/internal/storage/postgres/locks"
	"callgate/tool"
)

// fault is what a proxy does to the next message with a mark.
type fault string

const (
	loseAnswer  fault = "the answer is lost"       // the database has done it
	loseRequest fault = "the request is lost"      // the database never hears of it
	late        fault = "the request arrives late" // when deliver is called, and its client is gone
)

// proxy stands between a node and its server.
type proxy struct {
	listener net.Listener
	server   string
	deliver  chan struct{} // what is late arrives
	arrived  chan struct{} // the server has answered it

	mu     sync.Mutex
	mark   []byte
	next   fault
	hit    int
	closed bool // no connection works
	conns  map[net.Conn]bool
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{
		listener: l, server: server.Host(t), conns: map[net.Conn]bool{},
		deliver: make(chan struct{}), arrived: make(chan struct{}, 1),
	}
	t.Cleanup(func() {
		_ = l.Close()
		p.cut(true)
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

// url is an address of the cluster through the proxy.
func (p *proxy) url(t *testing.T, c *cluster) string {
	t.Helper()
	u, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = p.listener.Addr().String()
	return u.String()
}

// lose says what becomes of the next message with a mark.
func (p *proxy) lose(f fault, mark string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next, p.mark = f, []byte(mark)
}

func (p *proxy) hits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hit
}

// cut ends every connection; closed: and lets no other be made.
func (p *proxy) cut(closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = closed
	for c := range p.conns {
		_ = c.Close()
	}
}

// keep notes a connection; false: it is not let through.
func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.conns[c] = true
	}
	return !p.closed
}

func (p *proxy) forget(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// take says what becomes of a message.
func (p *proxy) take(message []byte) fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == "" || !bytes.Contains(message, p.mark) {
		return ""
	}
	f := p.next
	p.next = ""
	p.hit++
	return f
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	if !p.keep(client) {
		return
	}
	defer p.forget(client)
	remote, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer remote.Close()
	var mu sync.Mutex
	losing, answered := false, make(chan struct{}, 1)
	go func() {
		defer client.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := remote.Read(buffer)
			mu.Lock()
			lost := losing
			mu.Unlock()
			if lost {
				answered <- struct{}{}
				return
			}
			if err != nil {
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
		f := p.take(buffer[:n])
		if f == loseRequest {
			return
		}
		if f != "" {
			mu.Lock()
			losing = true
			mu.Unlock()
		}
		if f == late {
			_ = client.Close()
			<-p.deliver
		}
		if _, err := remote.Write(buffer[:n]); err != nil {
			return
		}
		if f != "" {
			<-answered
			if f == late {
				p.arrived <- struct{}{}
			}
			return
		}
	}
}

// An acquisition whose answer is lost, or which is lost itself, is made once and known.
func TestLostAcquisitions(t *testing.T) {
	t.Parallel()
	for _, f := range []fault{loseAnswer, loseRequest} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			c, p := newCluster(t), newProxy(t)
			var channel string
			a := c.openWith(t, "a", p.url(t, c), time.Hour, func(o *locks.Options) { channel = o.Channel })
			b := c.open(t, "b")
			p.lose(f, `"call":"c1"`)
			hold := acquire(t, a, "c1", "X db:main")
			if p.hits() != 1 {
				t.Fatal("nothing was lost")
			}
			wants(t, c, "c1 | ")
			waits, _ := start(t, b, "c2", "X db:main")
			p.lose(f, channel) // as the release says
			released := make(chan struct{})
			hold.Release(func() { close(released) })
			<-released
			if got := <-waits; got.err != nil {
				t.Fatal(got.err)
			}
			if p.hits() != 2 {
				t.Fatal("no release was lost")
			}
			wants(t, c, "c2 | ")
		})
	}
}

// wants checks who holds and who waits, now or as soon as it is so.
func wants(t *testing.T, c *cluster, who string) {
	t.Helper()
	got := c.who(t)
	for end := time.Now().Add(20 * time.Second); got != who && time.Now().Before(end); got = c.who(t) {
		<-time.After(time.Millisecond)
	}
	if got != who {
		t.Fatalf("holding | waiting: %q, want %q", got, who)
	}
}

// A call that is cancelled while its request is under way holds nothing, also when the database hears of it later.
func TestCancelledUnderWay(t *testing.T) {
	t.Parallel()
	c, p := newCluster(t), newProxy(t)
	a, b := c.openAt(t, "a", p.url(t, c), time.Hour), c.open(t, "b")
	p.lose(late, `"call":"c1"`)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := a.Acquire(ctx, request("c1", "X db:main"), locks.Watch{})
		failed <- err
	}()
	for p.hits() == 0 {
		<-time.After(time.Millisecond)
	}
	cancel()
	if err := <-failed; tool.KindOf(err) != tool.Cancelled {
		t.Errorf("it says %v", err)
	}
	if err := a.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.deliver <- struct{}{}
	<-p.arrived
	wants(t, c, " | ")
	acquire(t, b, "c2", "X db:main")
}

// While the database cannot be reached, a call is refused after a while, and releases are kept until it is back.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	c, p := newCluster(t), newProxy(t)
	a := c.openWith(t, "a", p.url(t, c), time.Hour, func(o *locks.Options) { o.Patience = 1500 * time.Millisecond })
	b := c.open(t, "b")
	hold := acquire(t, a, "c1", "X db:main")
	p.cut(true)
	if _, err := a.Acquire(t.Context(), request("c2", "X db:other"), locks.Watch{}); err == nil {
		t.Error("a database that is away gave a lock")
	}
	released := make(chan struct{})
	hold.Release(func() { close(released) })
	waits, by := start(t, b, "c3", "S db:main")
	if by.Holder.Call != "c1" {
		t.Errorf("it waits behind %+v", by)
	}
	select {
	case <-released:
		t.Error("a release was told to nobody")
	default:
	}
	p.cut(false)
	<-released
	if got := <-waits; got.err != nil {
		t.Error(got.err)
	}
}

// What a node has in the database and does not know of is released when it has lost connections, and what it holds is
// not.
func TestLocksThatNobodyHolds(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	lost := make(chan struct{})
	a := c.openWith(t, "a", c.url, time.Hour, func(o *locks.Options) {
		o.Listen = func(ctx context.Context, _ string, got func(string, bool)) {
			<-lost
			got("", true)
			<-ctx.Done()
		}
	})
	b := c.open(t, "b")
	hold := acquire(t, a, "c1", "X db:main")
	waits, _ := start(t, b, "c2", "X db:main")
	// As a crash of the server brings a released lock back.
	c.exec(t, "INSERT INTO lock_claims SELECT gen_random_uuid(), n, 'db:other/', mode, 'db:other', nextval('lock_numbers'), "+
		"nextval('lock_numbers'), node, epoch, $1, latches, NULL, asked, since FROM lock_claims WHERE fence IS NOT NULL",
		[]byte(`{"call":"gone"}`))
	third, by := start(t, b, "c3", "X db:other")
	if by.Holder.Call != "gone" {
		t.Errorf("it waits behind %+v", by)
	}
	close(lost)
	if got := <-third; got.err != nil {
		t.Error(got.err)
	}
	wants(t, c, "c1 c3 | c2")
	hold.Release(nil)
	if got := <-waits; got.err != nil {
		t.Error(got.err)
	}
}
