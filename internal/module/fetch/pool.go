package fetch

import (
	"sync"

	"callgate/tool"
)

// Client is an HTTP client, as far as a pool needs to know it.
type Client interface {
	CloseIdleConnections()
}

// Pool lends clients of type C to calls with settings of type S. The law:
//
//   - A client belongs to one value of settings, so a connection is used again
//     only by calls under the rules it was made under.
//   - A client in use is never closed. A client that leaves the pool while it
//     is in use is closed when the last call releases it.
//   - A client leaves the pool when the last session that used it ends, when
//     the pool is full and it was used longest ago, or when the pool closes.
//     Its idle connections are then closed, and it has no others.
type Pool[S any, C Client] struct {
	namespace string // the module
	defaults  *S     // for calls whose app file says nothing
	open      func(*S) C

	mu      sync.Mutex
	clients map[*S]*pooled[C]
	clock   uint64 // counts the calls of Acquire
	closed  bool
}

// maxClients bounds a pool. Settings are read once a session, and few sessions
// are busy at a time.
const maxClients = 64

// pooled is a client of a pool, and who uses it.
type pooled[C Client] struct {
	client   C
	sessions map[string]struct{}
	users    int    // calls that hold it now
	lastUsed uint64 // the pool's clock when it was last acquired
	removed  bool   // from the pool
}

// NewPool returns a pool for a module. Open makes a client from settings.
func NewPool[S any, C Client](namespace string, defaults *S, open func(*S) C) *Pool[S, C] {
	return &Pool[S, C]{namespace: namespace, defaults: defaults, open: open, clients: map[*S]*pooled[C]{}}
}

// Acquire lends the client of some settings to a call of a session. The call
// must release it.
func (p *Pool[S, C]) Acquire(s *S, session string) (client C, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return client, nil, tool.Errorf(p.namespace, tool.Unavailable, "the kernel is closing")
	}
	c := p.clients[s]
	if c == nil {
		if len(p.clients) >= maxClients {
			p.evictOldest()
		}
		c = &pooled[C]{client: p.open(s), sessions: map[string]struct{}{}}
		p.clients[s] = c
	}
	p.clock++
	c.lastUsed, c.users = p.clock, c.users+1
	c.sessions[session] = struct{}{}
	return c.client, sync.OnceFunc(func() { p.release(c) }), nil
}

func (p *Pool[S, C]) release(c *pooled[C]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.users--; c.removed && c.users == 0 {
		c.client.CloseIdleConnections()
	}
}

// evictOldest removes the client that was used longest ago.
func (p *Pool[S, C]) evictOldest() {
	var oldest *S
	for s, c := range p.clients {
		if oldest == nil || c.lastUsed < p.clients[oldest].lastUsed {
			oldest = s
		}
	}
	p.remove(oldest)
}

func (p *Pool[S, C]) remove(s *S) {
	c := p.clients[s]
	delete(p.clients, s)
	if c.removed = true; c.users == 0 {
		c.client.CloseIdleConnections()
	}
}

// EndSession removes the clients that only this session used.
func (p *Pool[S, C]) EndSession(session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s, c := range p.clients {
		if delete(c.sessions, session); len(c.sessions) == 0 {
			p.remove(s)
		}
	}
}

// Close removes every client, and refuses further calls.
func (p *Pool[S, C]) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for s := range p.clients {
		p.remove(s)
	}
	return nil
}
