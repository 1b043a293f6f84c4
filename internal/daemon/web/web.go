// Package web serves the kernel over the network: its protocol for programs, and the console for
// people.
//
// # Law
//
// Everybody who comes over the network brings a token that a human made: a program in the header
// Authorization, a browser in a cookie that it was given for a link that works once. What a token may
// do is what its role says of the route (roles.go); a route without a role is not served here. What else
// a request says of who sends it, keys and names, does not count.
//
// A page of another origin has nothing done: requests that change something and come from a browser
// are of this origin and carry its CSRF token, the cookie is never sent from another site, and a name
// that is not this server's is refused. Without TLS nothing but this machine is served.
//
// What is refused for its role, or with a token that does not count, is on record.
package web

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"callgate/internal/client"
	"callgate/internal/daemon/console"
	"callgate/internal/daemon/hosts"
	"callgate/internal/daemon/web/oidclogin"
	"callgate/internal/token"
	"callgate/tool"
)

// Tokens is what a kernel knows of tokens and logins.
type Tokens interface {
	Use(ctx context.Context, value string, role token.Role) (token.Token, error)
	UseLogin(ctx context.Context, value string, role token.Role) (token.Token, error)
	Derive(parts ...string) string
	Login(ctx context.Context, code string) (token.Token, string, error)
	LoginBy(ctx context.Context, by string, role token.Role, who token.Person) (token.Token, string, error)
	Logout(ctx context.Context, login token.Token) error
	OnRevoke(f func(id string))
}

// Options are what a server serves.
type Options struct {
	API       http.Handler                              // of the kernel's protocol
	Tokens    Tokens                                    // who may come in
	Note      func(text string)                         // puts a refusal on record
	Alive     func(session string) bool                 // a session is open
	AppID     func(ctx context.Context) (string, error) // of the app that is served
	Workspace string                                    // where calls are made that name no folder
	Hosts     []string                                  // names of this server, beside those of this machine
	TLS       *tls.Config                               // nil: plain HTTP, on this machine alone
	OIDC      *oidclogin.Provider                       // lets people in; nil: none does
	Log       *slog.Logger                              // never nil
	Counted   func(http.Handler) http.Handler           // counts what is served; nil: nobody does
	Limits    Limits                                    // of slow clients
	Draining  func() error                              // why nothing new begins here; nil: it does
}

// Server is a listening server.
type Server struct {
	opt      Options
	listener net.Listener
	server   *http.Server
	routes   *http.ServeMux
	sessions *sessions
	people   *people
	console  *console.Console
	requests requests
	refusals refusals
	base     context.Context // of every request
	end      context.CancelFunc
	refusing sync.Once
	refused  chan error // says when every request is answered
	closing  sync.Once
	document func() ([]byte, error)
	name     string // of this server alone on this machine: see isOwnName
}

// Listen serves on an address. An address beyond this machine takes TLS.
func Listen(address string, o Options) (*Server, error) {
	const op = "web.Listen"
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "%q is no address to listen on", tool.Truncate(address)).
			WithHint("write a host and a port, such as 127.0.0.1:7420; port 0 is any free one")
	}
	if !hosts.IsLoopback(host) && o.TLS == nil {
		return nil, tool.Errorf(op, tool.Denied, "%s can be reached from other machines, and tokens would go over the "+
			"network in the clear", tool.Truncate(address)).
			WithHint("give --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy or an SSH tunnel")
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Unavailable, Message: "nothing can listen on " + address, Err: err,
			Hint: "choose another port with --listen, or end what has it"}
	}
	return serve(l, o), nil
}

func serve(l net.Listener, o Options) *Server {
	o.Limits = o.Limits.orDefaults()
	s := &Server{opt: o, listener: l, refused: make(chan error, 1), document: sync.OnceValues(Document)}
	s.base, s.end = context.WithCancel(context.Background())
	s.name = "callgate-" + o.Tokens.Derive("name of the console")[:20] + ".localhost"
	s.sessions = newSessions(o)
	s.refusals.note = o.Note
	s.people = &people{server: s, clients: map[string]*client.Client{}}
	s.console = console.New(console.Options{Client: s.people.client, Person: s.people.person, Workspace: o.Workspace})
	o.Tokens.OnRevoke(func(id string) {
		s.requests.end(id)
		s.sessions.endOf(id)
		s.people.forget(id)
	})
	handler := s.handler()
	if o.Counted != nil {
		handler = o.Counted(handler)
	}
	s.server = &http.Server{
		Handler: handler, ReadHeaderTimeout: o.Limits.Header, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		TLSConfig: o.TLS, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return s.base },
	}
	bounded := &boundedListener{Listener: l, free: make(chan struct{}, o.Limits.Connections)}
	go func() {
		var err error
		if o.TLS != nil {
			err = s.server.ServeTLS(bounded, "", "")
		} else {
			err = s.server.Serve(bounded)
		}
		if !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			o.Log.Error("the web server ended", "error", err)
		}
	}()
	return s
}

// URL is where the server is, as a browser on this machine finds it.
func (s *Server) URL() string {
	scheme := "http://"
	if s.opt.TLS != nil {
		scheme = "https://"
	}
	return scheme + s.listener.Addr().String()
}

// LoginURL is the link for a code.
func (s *Server) LoginURL(code string) string {
	at := s.URL()
	if s.opt.TLS == nil {
		_, port, _ := net.SplitHostPort(s.listener.Addr().String())
		at = "http://" + net.JoinHostPort(s.name, port)
	}
	return at + loginPath + "?code=" + code
}

// Refuse takes no connection any more, and no request but those that are under way.
func (s *Server) Refuse() {
	s.refusing.Do(func() {
		go func() { s.refused <- s.server.Shutdown(s.base) }()
	})
}

// Close ends the server: it refuses what is new, ends the pages that are live, and waits until other requests are
// answered. Those that are not when ctx ends are cancelled. Streams of the API end with the API.
func (s *Server) Close(ctx context.Context) error {
	var err error
	s.closing.Do(func() {
		s.Refuse()
		s.console.Close()
		select {
		case err = <-s.refused:
		case <-ctx.Done():
			err = errors.Join(ctx.Err(), s.server.Close())
		}
		s.end()
		s.sessions.close()
	})
	return err
}

// boundedListener accepts so many connections at once, and has the others wait.
type boundedListener struct {
	net.Listener
	free chan struct{}
}

// Accept returns the next connection, when there is room for it.
func (l *boundedListener) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &boundedConn{Conn: c, release: sync.OnceFunc(func() { <-l.free })}, nil
}

type boundedConn struct {
	net.Conn
	release func()
}

// Close closes the connection and makes room for another.
func (c *boundedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
