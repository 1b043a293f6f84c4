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

// Proxy is a forward proxy on the loopback, for a program that makes its own
// connections, as a browser does: it is told to make all of them through here,
// and the guard judges each. Chromium must also be told not to go around it:
// --proxy-bypass-list=<-loopback>, or it reaches the loopback by itself, and
// --force-webrtc-ip-handling-policy=disable_non_proxied_udp.
//
// The law of its end: every tunnel is held in tunnels from before it is told
// that it stands until both its ends are closed, and a tunnel that comes after
// Close began is closed at once; so Close returns when nothing is left.
type Proxy struct {
	guard    *Guard
	log      *slog.Logger
	listener net.Listener
	server   *http.Server
	forward  *httputil.ReverseProxy
	password string
	end      context.CancelFunc // of everything that goes through
	serving  sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	tunnels  map[net.Conn]struct{}
	refusals map[string]*tool.Error
}

// proxyUser is the name that goes with the password.
const proxyUser = "callgate"

// Proxy starts a proxy. A nil log keeps quiet.
func (g *Guard) Proxy(log *slog.Logger) (*Proxy, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, &tool.Error{Op: op + ".Proxy", Kind: tool.Unavailable, Message: "the proxy that guards the browser cannot listen on the loopback", Err: err}
	}
	p := &Proxy{guard: g, log: log, listener: listener, password: rand.Text(), tunnels: map[net.Conn]struct{}{}, refusals: map[string]*tool.Error{}}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	p.forward = &httputil.ReverseProxy{
		// The request goes on as it is, less what is between two hops.
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.RawQuery = r.In.URL.RawQuery },
		Transport:     checkedTransport{g, g.Transport()},
		FlushInterval: -1,
		ErrorLog:      quiet,
		ErrorHandler:  func(w http.ResponseWriter, r *http.Request, err error) { p.fail(w, r.URL, err) },
	}
	ctx, end := context.WithCancel(context.Background())
	p.end = end
	p.server = &http.Server{
		Handler: p, ErrorLog: quiet, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	p.serving.Go(func() { _ = p.server.Serve(listener) })
	return p, nil
}

// Addr is where it listens: 127.0.0.1 and a port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Credential is what the proxy asks of whoever uses it, by the Basic scheme in
// Proxy-Authorization: without it, any program of this machine could.
func (p *Proxy) Credential() (user, password string) { return proxyUser, p.password }

// Refused returns why the last connection for a URL's host was refused, or nil.
// A browser tells its user little more than that it was.
func (p *Proxy) Refused(u *url.URL) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.refusals[hostPort(u)]; e != nil {
		return e
	}
	return nil
}

// Close ends the proxy and every connection that goes through it.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	for conn := range p.tunnels {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.end()
	err := p.server.Close()
	p.serving.Wait()
	p.forward.Transport.(checkedTransport).CloseIdleConnections()
	return err
}

// ServeHTTP serves one request of the browser.
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
		// The host that is judged is the host that is asked: a Host header
		// that says something else does not go on.
		r.Host = r.URL.Host
		p.forward.ServeHTTP(w, r)
	}
}

func (p *Proxy) mayUse(r *http.Request) bool {
	// The header has the form that BasicAuth reads from Authorization.
	probe := http.Request{Header: http.Header{"Authorization": r.Header.Values("Proxy-Authorization")}}
	user, password, ok := probe.BasicAuth()
	got, want := sha256.Sum256([]byte(user+":"+password)), sha256.Sum256([]byte(proxyUser+":"+p.password))
	return ok && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// connect opens a tunnel.
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
	if !p.hold(near, far) {
		return
	}
	defer p.drop(near, far)
	_ = near.SetDeadline(time.Time{})
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(far, buffered) // with what came before the answer
		closeWrite(far)
	})
	both.Go(func() {
		_, _ = io.Copy(near, far)
		closeWrite(near)
	})
	both.Wait()
}

// closeWrite says that no more comes this way; the other way stays open.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = conn.Close()
}

func (p *Proxy) hold(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if !p.closed {
			p.tunnels[c] = struct{}{}
		}
	}
	return !p.closed
}

func (p *Proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.tunnels, c)
	}
}

// maxRefusals bounds what is remembered for Refused.
const maxRefusals = 256

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
	p.refusals[host] = e
	p.mu.Unlock()
	http.Error(w, e.Error(), http.StatusForbidden)
}

func hostPort(u *url.URL) string {
	return net.JoinHostPort(strings.ToLower(u.Hostname()), portOf(u))
}
