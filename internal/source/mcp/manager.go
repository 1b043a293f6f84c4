// Package mcp gets tools from MCP servers.
//
// A [Manager] holds the servers of all apps. Apps that configure a server
// equally share one [Server], and so one process and one session. A Server is a
// source of tools for the registry, and each of its tools calls the server.
//
// # Known before it runs
//
// The tools that a server listed when it last ran are in a cache, so they are
// known without starting it. A server that was never seen is fetched in the
// background, a few at a time. A server starts when it is used. When it then
// lists other tools than those known, the cache is replaced first; then the
// registry is told, and publishes a new generation.
//
// # One session for everybody
//
// At most one attempt to connect to a server is under way; all who need the
// server wait for it. A connection that has ended is replaced by the next call,
// after a wait that doubles with each failure; after five failures in a row
// nobody tries for a while, and calls fail with the time when that ends. A call
// that certainly was not sent is sent once more on the new connection. Any other
// call that is cut off fails, with how the server ended and the end of its log.
//
// A server works on a limited number of calls at a time; the others wait in
// line, visibly. A call without progress for its timeout is cancelled at the
// server; progress, and a question to a human, extend it.
//
// # Nothing stays behind
//
// A server is stopped when the last app releases it, and all are when the
// manager is closed, in bounded time, with every process they started. Should
// the kernel die, they die too: see the package process.
//
// # Nothing is believed
//
// The names, schemas, hints and texts of a server are translated by the package
// translate, and secrets are removed from its texts before anybody sees them.
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
	"callgate/tool"
)

// maxFetches is how many servers are fetched in the background at a time.
const maxFetches = 4

// Manager holds the servers of all apps.
type Manager struct {
	opt    Options
	ctx    context.Context // ends with the manager
	cancel context.CancelFunc

	transport *http.Transport // to the servers
	auth      *http.Client    // to the authorization servers
	logins    oauth.Store
	watch     *process.Watchdog
	fetches   chan struct{}  // slots of background fetches
	work      sync.WaitGroup // background work, and servers that are being stopped

	mu      sync.Mutex // guards the fields below, and Server.refs
	servers map[string]*Server
	closed  bool
}

// New makes a manager. No server is started before it is used.
func New(opt Options) *Manager {
	m := &Manager{
		opt:       opt,
		transport: remote.Dialer(),
		auth:      &http.Client{Timeout: 30 * time.Second}, // on the default transport, as the SDK's address checks require
		logins:    opt.Logins,
		watch:     &process.Watchdog{},
		fetches:   make(chan struct{}, maxFetches),
		servers:   map[string]*Server{},
	}
	if m.logins == nil {
		m.logins = oauth.NewMemory()
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// Server returns the server of a config; equal configs share one. Every server
// that was returned must be released with [Server.Release].
func (m *Manager) Server(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	key := cfg.Key()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, tool.Errorf("mcp.Server", tool.Unavailable, "the MCP servers are being stopped")
	}
	s := m.servers[key]
	if s == nil {
		s = newServer(m, cfg.WithDefaults(), key)
		m.servers[key] = s
	}
	s.refs++
	return s, nil
}

// Servers returns the servers that are in use, ordered by name.
func (m *Manager) Servers() []*Server {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]*Server, 0, len(m.servers))
	for _, s := range m.servers {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *Server) int {
		return cmp.Or(cmp.Compare(a.cfg.Name, b.cfg.Name), cmp.Compare(a.key, b.key))
	})
	return list
}

// Close stops all servers and returns when they are gone.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	servers := m.servers
	m.servers = map[string]*Server{}
	m.mu.Unlock()
	for _, s := range servers {
		m.work.Go(s.connector.Stop)
	}
	m.cancel()
	m.work.Wait()
	m.watch.Close()
	m.transport.CloseIdleConnections()
}

// release gives up one use of a server, and stops it after the last.
func (m *Manager) release(s *Server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.refs == 0 {
		return
	}
	if s.refs--; s.refs == 0 && !m.closed {
		delete(m.servers, s.key)
		m.work.Go(s.connector.Stop)
	}
}

// background runs a function of a server unless the manager is closed. Close
// waits for it.
func (m *Manager) background(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.work.Go(do)
	}
}
