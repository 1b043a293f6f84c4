package netguard_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"callgate/internal/netguard"
	"callgate/tool"
)

// through returns a client that connects through the proxy.
func through(p *netguard.Proxy, user, password string) *http.Client {
	at := &url.URL{Scheme: "http", Host: p.Addr()}
	if user != "" {
		at.User = url.UserPassword(user, password)
	}
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(at), DisableKeepAlives: true}}
}

func startProxy(t *testing.T, r netguard.Rules) *netguard.Proxy {
	t.Helper()
	p, err := newGuard(t, r).Proxy(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestProxyAsksForItsPassword(t *testing.T) {
	t.Parallel()
	s := echo(t)
	p := startProxy(t, netguard.Rules{Private: []string{"127.0.0.1"}})
	user, password := p.Credential()
	for name, c := range map[string]struct {
		user, password string
		want           string
	}{
		"right":    {user, password, "200"},
		"none":     {"", "", "407"},
		"wrong":    {user, password + "x", "407"},
		"no user":  {"x", password, "407"},
		"no words": {user, "", "407"},
	} {
		got, err := send(through(p, c.user, c.password), "GET", s.URL+"/?a;b=%zz", "")
		if err != nil || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %v %s", name, err, got)
		}
		if strings.Contains(got, "Proxy-") || strings.Contains(got, "Forwarded") {
			t.Errorf("%s: the server learnt of the proxy:\n%s", name, got)
		}
	}
	resp, err := http.Get("http://" + p.Addr() + "/")
	if err != nil || resp.StatusCode != http.StatusProxyAuthRequired {
		t.Errorf("asked as a server: %v %v", resp, err)
	}
}

// A proxy on a listener that is its user's alone asks for no password.
func TestProxyOnAListener(t *testing.T) {
	t.Parallel()
	s := echo(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := newGuard(t, netguard.Rules{Private: []string{"127.0.0.1"}}).ProxyOn(listener, nil)
	if got, err := send(through(p, "", ""), "GET", s.URL, ""); err != nil || !strings.HasPrefix(got, "200") || p.LastRefused() != nil {
		t.Errorf("%v %s, refused %v", err, got, p.LastRefused())
	}
	if got, err := send(through(p, "", ""), "GET", "http://169.254.169.254/", ""); err != nil || !strings.HasPrefix(got, "403") {
		t.Errorf("%v %s", err, got)
	}
	if err := p.LastRefused(); tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), "169.254.169.254") {
		t.Errorf("it refused %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		c.Close()
		t.Error("it listens after Close")
	}
}

// However many connections its user opens, so many are the proxy's and no more.
func TestProxyOnAListenerHasALimit(t *testing.T) {
	t.Parallel()
	s := echo(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := newGuard(t, netguard.Rules{Private: []string{"127.0.0.1"}}).ProxyOn(listener, nil)
	request := "CONNECT " + strings.TrimPrefix(s.URL, "http://") + " HTTP/1.1\r\nHost: x\r\n\r\n"
	var conns []net.Conn
	connect := func() net.Conn {
		c, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		_, _ = io.WriteString(c, request)
		return c
	}
	answered := func(c net.Conn, within time.Duration) bool {
		_ = c.SetReadDeadline(time.Now().Add(within))
		n, _ := c.Read(make([]byte, 64))
		return n > 0
	}
	for range 256 {
		if !answered(connect(), 10*time.Second) {
			t.Fatalf("connection %d was not served", len(conns))
		}
	}
	late := connect()
	if answered(late, 50*time.Millisecond) {
		t.Error("one too many was served")
	}
	_ = conns[0].Close()
	if !answered(late, 10*time.Second) {
		t.Error("the one that waited was not served when another had ended")
	}
	connect() // waits, and Close does not wait for it
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range conns {
		_ = c.Close()
	}
}

func TestProxySaysWhatItRefused(t *testing.T) {
	t.Parallel()
	p := startProxy(t, netguard.Rules{})
	client := through(p, "callgate", must(p.Credential()))
	got, err := send(client, "GET", "http://127.0.0.1:9/", "")
	if err != nil || !strings.HasPrefix(got, "403") || !strings.Contains(got, "private_hosts") {
		t.Errorf("%v %s", err, got)
	}
	_, _ = send(client, "GET", "https://LOCALHOST/", "")
	for _, text := range []string{"http://127.0.0.1:9/x", "https://localhost/"} {
		u, _ := url.Parse(text)
		if err := p.Refused(u); tool.KindOf(err) != tool.Denied {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := p.Refused(&url.URL{Scheme: "http", Host: "example.com"}); err != nil {
		t.Errorf("never asked for: %v", err)
	}
}

func must(_, password string) string { return password }

func TestProxyTunnels(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			fmt.Fprint(w, "over TLS")
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		kind, data, err := c.Read(r.Context())
		if err == nil {
			_ = c.Write(r.Context(), kind, append([]byte("echo "), data...))
		}
		_ = c.Close(websocket.StatusNormalClosure, "")
	}))
	defer secure.Close()
	plain := httptest.NewServer(secure.Config.Handler)
	defer plain.Close()
	p := startProxy(t, netguard.Rules{Private: []string{"127.0.0.1"}})
	client := through(p, "callgate", must(p.Credential()))
	client.Transport.(*http.Transport).TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
	if got, err := send(client, "GET", secure.URL, ""); err != nil || !strings.Contains(got, "over TLS") {
		t.Errorf("%v %s", err, got)
	}
	for _, at := range []string{secure.URL, plain.URL} {
		c, _, err := websocket.Dial(t.Context(), at, &websocket.DialOptions{HTTPClient: client})
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		_ = c.Write(t.Context(), websocket.MessageText, []byte("hello"))
		if _, got, err := c.Read(t.Context()); err != nil || string(got) != "echo hello" {
			t.Errorf("%s: %q, %v", at, got, err)
		}
		_ = c.CloseNow()
	}
}

// Close ends a tunnel, an upgraded request, and a request that waits.
func TestProxyLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	arrived, ended := make(chan struct{}, 3), make(chan struct{}, 3)
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		defer func() { ended <- struct{}{} }()
		if r.Header.Get("Upgrade") != "" {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: thing\r\n\r\n")
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}
			return
		}
		<-r.Context().Done()
	}))
	p, err := newGuard(t, netguard.Rules{Private: []string{"127.0.0.1"}}).Proxy(nil)
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(silent.URL, "http://")
	credential := "Proxy-Authorization: " + basic(p)
	tunnel := open(t, p, "CONNECT "+host+" HTTP/1.1\r\nHost: "+host+"\r\n"+credential+"\r\n\r\n", "200")
	fmt.Fprintf(tunnel, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host)
	upgraded := open(
		t,
		p,
		"GET "+silent.URL+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: Upgrade\r\nUpgrade: thing\r\n"+credential+"\r\n\r\n",
		"101",
	)
	waiting := open(t, p, "GET "+silent.URL+" HTTP/1.1\r\nHost: "+host+"\r\n"+credential+"\r\n\r\n", "")
	for range 3 {
		<-arrived
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for range 3 {
		<-ended
	}
	for _, conn := range []net.Conn{tunnel, upgraded, waiting} {
		if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("a connection is still open: %v", err)
		}
		_ = conn.Close()
	}
	silent.Close()
	deadline, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for runtime.NumGoroutine() > before && deadline.Err() == nil {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before {
		buf := make([]byte, 1<<16)
		t.Errorf("%d goroutines, %d before\n%s", n, before, buf[:runtime.Stack(buf, true)])
	}
}

func basic(p *netguard.Proxy) string {
	user, password := p.Credential()
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return r.Header.Get("Authorization")
}

// open sends a request to the proxy and waits for the status, if one is given.
func open(t *testing.T, p *netguard.Proxy, request, status string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprint(conn, request)
	if status == "" {
		return conn
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, " "+status+" ") {
		t.Fatalf("%q, %v", line, err)
	}
	return conn
}
