package netguard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"callgate/tool"
)

// Proxy is a forward proxy on the loopback, for programs that make their own
// connections, such as browsers. They are told to connect through the proxy, and
// the guard checks each connection. Chromium must also be told not to bypass it,
// with --proxy-bypass-list=<-loopback> (or it reaches the loopback by itself) and
// --force-webrtc-ip-handling-policy=disable_non_proxied_udp.
//
// The law of closing: a connection of a tunnel is in tunnels before the client
// learns that the tunnel is open, and until both its ends are closed; a tunnel
// that opens after Close has begun is closed at once. So nothing is left when
// Close returns.
type Proxy struct {
	guard    *Guard
	log      *slog.Logger
	listener net.Listener
	server   *http.Server
	forward  *httputil.ReverseProxy
	password string             // "": none is asked for
	cancel   context.CancelFunc // of every request
	serving  sync.WaitGroup     // requests, and the server itself

	mu       sync.Mutex
	closed   bool
	tunnels  map[net.Conn]struct{}
	refusals map[string]*tool.Error // the last one, by host and port
	last     *tool.Error            // of all of them
}

// proxyUser is the user name that belongs to the password.
const proxyUser = "callgate"

// Proxy starts a proxy. A nil log logs nothing.
func (g *Guard) Proxy(log *slog.Logger) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, &tool.Error{
			Op: op + ".Proxy", Kind: tool.Unavailable,
			Message: "the proxy of the browser cannot listen on the loopback", Err: err,
		}
	}
	return g.proxy(listener, rand.Text(), log), nil
}

// ProxyOn starts a proxy on a listener that only those can reach who may use it,
// as one in a network namespace of their own. It asks for no password, and has at
// most 256 connections at a time; more of them wait.
func (g *Guard) ProxyOn(listener net.Listener, log *slog.Logger) *Proxy {
	return g.proxy(limitListener(listener, maxConnections), "", log)
}

func (g *Guard) proxy(listener net.Listener, password string, log *slog.Logger) *Proxy {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{
		guard: g, log: log, listener: listener, password: password,
		tunnels: map[net.Conn]struct{}{}, refusals: map[string]*tool.Error{},
	}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	p.forward = &httputil.ReverseProxy{
		// The request is forwarded as it is, without the headers of the connection.
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.RawQuery = r.In.URL.RawQuery },
		Transport:     checkedTransport{g, g.Transport()},
		FlushInterval: -1,
		ErrorLog:      quiet,
		ErrorHandler:  func(w http.ResponseWriter, r *http.Request, err error) { p.fail(w, r.URL, err) },
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.server = &http.Server{
		Handler: p, ErrorLog: quiet, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	p.serving.Go(func() { _ = p.server.Serve(listener) })
	return p
}

// Addr returns the address of the proxy: 127.0.0.1 and a port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Credential returns what a client must send in Proxy-Authorization, by the
// Basic scheme. Without it any program of this machine could use the proxy.
func (p *Proxy) Credential() (user, password string) { return proxyUser, p.password }

// Refused returns why the last connection to a URL's host was refused, or nil. A
// browser only reports that a connection failed.
func (p *Proxy) Refused(u *url.URL) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.refusals[hostPort(u)]; e != nil {
		return e
	}
	return nil
}

// LastRefused returns why the last connection that was refused was, or nil.
func (p *Proxy) LastRefused() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		return nil
	}
	return p.last
}

// Close ends the proxy and every connection that goes through it.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	for conn := range p.tunnels {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.cancel()
	err := p.server.Close()
	p.serving.Wait()
	p.forward.Transport.(checkedTransport).CloseIdleConnections()
	return err
}

// ServeHTTP serves one request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.serving.Add(1) // under the lock: Close has not begun to wait
	}
	p.mu.Unlock()
	if closed {
		return
	}
	defer p.serving.Done()
	switch {
	case !p.mayUse(r):
		w.Header().Set("Proxy-Authenticate", `Basic realm="callgate"`)
		http.Error(w, "this proxy belongs to another program", http.StatusProxyAuthRequired)
	case r.Method == http.MethodConnect:
		p.connect(w, r)
	case !r.URL.IsAbs() || r.URL.Host == "":
		http.Error(w, "this is a proxy: it serves nothing of its own", http.StatusBadRequest)
	default:
		// The checked host is the host that is asked: another Host header is not
		// forwarded.
		r.Host = r.URL.Host
		p.forward.ServeHTTP(w, r)
	}
}

func (p *Proxy) mayUse(r *http.Request) bool {
	if p.password == "" {
		return true
	}
	// The header has the form that BasicAuth reads from Authorization.
	probe := http.Request{Header: http.Header{"Authorization": r.Header.Values("Proxy-Authorization")}}
	user, password, ok := probe.BasicAuth()
	got, want := sha256.Sum256([]byte(user+":"+password)), sha256.Sum256([]byte(proxyUser+":"+p.password))
	return ok && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// connect opens a tunnel and forwards both directions until both end.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	to := &url.URL{Scheme: "https", Host: r.Host}
	far, err := p.guard.DialContext(r.Context(), "tcp", r.Host)
	if err != nil {
		p.fail(w, to, err)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		p.fail(w, to, err)
		return
	}
	defer near.Close()
	if !p.addTunnel(near, far) {
		return
	}
	defer p.removeTunnel(near, far)
	_ = near.SetDeadline(time.Time{})
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(far, buffered) // with bytes that came before the answer
		closeWrite(far)
	})
	both.Go(func() {
		_, _ = io.Copy(near, far)
		closeWrite(near)
	})
	both.Wait()
}

// closeWrite ends one direction of a connection; the other stays open.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = conn.Close()
}

// addTunnel reports whether the proxy is open, and notes the connections of a
// tunnel if it is.
func (p *Proxy) addTunnel(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if !p.closed {
			p.tunnels[c] = struct{}{}
		}
	}
	return !p.closed
}

func (p *Proxy) removeTunnel(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.tunnels, c)
	}
}

// maxRefusals bounds the refusals that are kept.
const maxRefusals = 256

// fail answers a request that could not be forwarded.
func (p *Proxy) fail(w http.ResponseWriter, to *url.URL, err error) {
	host := hostPort(to)
	var e *tool.Error
	if !errors.As(err, &e) || e.Kind != tool.Denied && e.Kind != tool.Invalid {
		status := http.StatusBadGateway
		if errors.Is(err, context.DeadlineExceeded) {
			status = http.StatusGatewayTimeout
		}
		p.log.Debug("the proxy could not connect", "host", tool.Truncate(host), "error", err)
		http.Error(w, "the connection could not be made", status)
		return
	}
	p.log.Info("the proxy refused a connection", "host", tool.Truncate(host), "why", e.Message)
	p.mu.Lock()
	if len(p.refusals) >= maxRefusals {
		clear(p.refusals)
	}
	p.refusals[host], p.last = e, e
	p.mu.Unlock()
	http.Error(w, e.Error(), http.StatusForbidden)
}

func hostPort(u *url.URL) string {
	return net.JoinHostPort(strings.ToLower(u.Hostname()), portOf(u))
}
