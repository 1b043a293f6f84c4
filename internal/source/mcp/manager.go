// Package mcp is where the tools of MCP servers come from.
//
// A [Hub] holds the servers of all apps. Apps that name a server with equal
// words share one [Server], and so one process and one session, however many
// they are. A Server is a source of tools for the registry, and every one of
// its tools calls the server.
//
// # Knowing without starting
//
// What a server brought when it last ran lies in a cache, so its tools are
// known at once and nothing is started to know them. A server that was never
// seen is fetched in the background, a few at a time. It starts when somebody
// uses it. Whenever it then brings other tools than were known, the cache is
// replaced first, then the caller is told, and makes a new generation.
//
// # One session for everybody
//
// There is at most one attempt to connect to a server at a time; whoever needs
// it waits for that one. A connection that has ended is replaced by the next
// call, after a wait that doubles with each failure; after five in a row nobody
// tries for a while, and calls are told when that ends. A call that was
// certainly not sent is sent again on the new connection, once; any other that
// is cut off fails, with how the server ended and its last words.
//
// A server takes so many calls at a time; the others wait in line, visibly. A
// call that is silent for its timeout is cancelled at the server; progress, and
// a question to a human, extend it.
//
// # Nothing stays behind
//
// A server is stopped when its last app lets it go, and all are when the hub
// is closed, in bounded time, with everything they started. Should the kernel
// die, they die too: see the package process.
//
// Servers are strangers: their names, schemas, hints and words are translated
// by the package translate, and secrets are taken out of what they say before
// anybody is shown it.
package mcp

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"callgate/internal/source/mcp/oauth"
	"callgate/internal/source/mcp/process"
	"callgate/internal/source/mcp/remote"
	"callgate/internal/source/mcp/secretref"
	"callgate/internal/source/mcp/serverlog"
	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

// maxFetches is how many servers are fetched in the background at a time.
const maxFetches = 4

// Manager holds the servers of all apps.
type Manager struct {
	opt    Options
	ctx    context.Context // ends with the hub
	cancel context.CancelFunc

	dialer  *http.Transport // for the servers
	auth    *http.Client    // for those who guard them
	logins  *oauth.Store
	watch   *process.Watchdog
	fetches chan struct{}  // slots of background fetches
	work    sync.WaitGroup // background fetches, and servers that are being stopped

	mu      sync.Mutex // guards what follows
	servers map[string]*Server
	closed  bool
}

// New makes a hub. Nothing is started before a server is used.
func New(opt Options) *Manager {
	h := &Manager{
		opt:     opt,
		dialer:  remote.Dialer(),
		auth:    &http.Client{Timeout: 30 * time.Second}, // the SDK's guards against strange addresses need its own transport
		logins:  &oauth.Store{Dir: opt.Tokens},
		watch:   &process.Watchdog{},
		fetches: make(chan struct{}, maxFetches),
		servers: map[string]*Server{},
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Server returns the server of a config; equal configs have one. Each is to be
// let go with [Server.Release].
func (h *Manager) Server(cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	key := cfg.key()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, tool.Errorf("mcp.Server", tool.Unavailable, "the MCP servers are being stopped")
	}
	s := h.servers[key]
	if s == nil {
		s = newServer(h, cfg.withDefaults(), key)
		h.servers[key] = s
	}
	s.refs++
	return s, nil
}

// Servers returns those that somebody holds, by name.
func (h *Manager) Servers() []*Server {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*Server, 0, len(h.servers))
	for _, s := range h.servers {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *Server) int { return cmp.Or(cmp.Compare(a.cfg.Name, b.cfg.Name), cmp.Compare(a.key, b.key)) })
	return list
}

// Close stops all servers and returns when they are gone.
func (h *Manager) Close() {
	h.mu.Lock()
	h.closed = true
	servers := h.servers
	h.servers = map[string]*Server{}
	h.mu.Unlock()
	for _, s := range servers {
		h.work.Go(s.stop)
	}
	h.cancel()
	h.work.Wait()
	h.watch.Close()
	h.dialer.CloseIdleConnections()
}

// release lets a server go, and stops it when nobody holds it any more.
func (h *Manager) release(s *Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.refs == 0 {
		return
	}
	if s.refs--; s.refs == 0 && !h.closed {
		delete(h.servers, s.key)
		h.work.Go(s.stop)
	}
}

// background does something for a server while the hub is open.
func (h *Manager) background(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.work.Go(do)
	}
}

func newServer(h *Manager, cfg Config, key string) *Server {
	s := &Server{
		hub: h, cfg: cfg, key: key,
		namespace: translate.Namespace(cfg.Name),
		secrets:   &secretref.Resolver{Lookup: h.opt.Secret, Scrub: h.opt.Scrub},
		log:       &serverlog.Log{},
		calls:     newCallTracker(cfg),
	}
	s.conn.ctx, s.conn.cancel = context.WithCancel(h.ctx)
	if cfg.URL != "" {
		s.account = oauth.NewAccount(cfg.Name, cfg.account(), h.logins, h.auth)
	}
	return s
}
