package http

import (
	nethttp "net/http"
	"sync"

	"callgate/tool"
)

// clientPool lends clients to calls. The law:
//
//   - A line belongs to one value of settings, so a connection is used again
//     only by calls that are judged by the rules it was made under.
//   - A line that is lent is never closed. One that was put away while lent is
//     closed by whoever gives it back last.
//   - A line is put away when the last session that used it ends, when too
//     many others are used more, or when the kernel ends. After that its idle
//     connections are closed, and it has no others.
type clientPool struct {
	usual *settings

	mu      sync.Mutex
	clients map[*settings]*pooledClient
	turn    uint64
	closed  bool
}

// maxLines bounds the lines that are kept. Settings are read once a session,
// and few sessions are busy at a time.
const maxLines = 64

// pooledClient is a client and who uses it.
type pooledClient struct {
	client   *nethttp.Client
	sessions map[string]struct{}
	lent     int
	last     uint64 // the turn in which it was last taken
	away     bool
}

func newClientPool(usual *settings) *clientPool {
	return &clientPool{usual: usual, clients: map[*settings]*pooledClient{}}
}

func (d *clientPool) acquire(s *settings, session string) (*pooledClient, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, tool.Errorf(Namespace, tool.Unavailable, "the kernel is closing")
	}
	l := d.clients[s]
	if l == nil {
		if len(d.clients) >= maxLines {
			d.evictOldest()
		}
		l = &pooledClient{client: s.guard.Client(s.MaxRedirects), sessions: map[string]struct{}{}}
		d.clients[s] = l
	}
	d.turn++
	l.last, l.lent = d.turn, l.lent+1
	l.sessions[session] = struct{}{}
	return l, nil
}

func (d *clientPool) release(l *pooledClient) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.lent--; l.away && l.lent == 0 {
		l.client.CloseIdleConnections()
	}
}

// evictOldest puts the line away that was taken longest ago.
func (d *clientPool) evictOldest() {
	var oldest *settings
	for s, l := range d.clients {
		if oldest == nil || l.last < d.clients[oldest].last {
			oldest = s
		}
	}
	d.closeClient(oldest)
}

func (d *clientPool) closeClient(s *settings) {
	l := d.clients[s]
	delete(d.clients, s)
	if l.away = true; l.lent == 0 {
		l.client.CloseIdleConnections()
	}
}

// endSession puts away what only that session used.
func (d *clientPool) endSession(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s, l := range d.clients {
		if delete(l.sessions, session); len(l.sessions) == 0 {
			d.closeClient(s)
		}
	}
}

func (d *clientPool) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for s := range d.clients {
		d.closeClient(s)
	}
	return nil
}
