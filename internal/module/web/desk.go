package web

import (
	"net/http"
	"sync"

	"callgate/internal/module/web/pagecache"
	"callgate/internal/module/web/politeness"
	"callgate/tool"
)

// desk lends clients to calls, and knows what the kernel has under way. The
// law:
//
//   - A line belongs to one value of settings, so a connection is used again
//     only by calls that are judged by the rules it was made under.
//   - A line that is lent is never closed. One that was put away while lent is
//     closed by whoever gives it back last.
//   - A line is put away when the last session that used it ends, when too
//     many others are used more, or when the kernel ends. After that its idle
//     connections are closed, and it has no others.
//   - The gates are the kernel's: a host sees one guest, not one for each
//     session.
type desk struct {
	usual *settings
	pages *pagecache.Cache
	gates politeness.Gates

	mu     sync.Mutex
	lines  map[*settings]*line
	turn   uint64
	closed bool
}

// maxLines bounds the lines that are kept. Settings are read once a session,
// and few sessions are busy at a time.
const maxLines = 64

// line is a client, what it knows of hosts, and who uses it.
type line struct {
	client   *http.Client // follows no redirects: see errand.visit
	robots   politeness.Robots
	sessions map[string]struct{}
	lent     int
	last     uint64 // the turn in which it was last taken
	away     bool
}

func newDesk(usual *settings, pages *pagecache.Cache) *desk {
	return &desk{usual: usual, pages: pages, lines: map[*settings]*line{}}
}

func (d *desk) take(s *settings, session string) (*line, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, tool.Errorf(Namespace, tool.Unavailable, "the kernel is closing")
	}
	l := d.lines[s]
	if l == nil {
		if len(d.lines) >= maxLines {
			d.crowdOut()
		}
		l = &line{client: s.guard.Client(0), sessions: map[string]struct{}{}}
		d.lines[s] = l
	}
	d.turn++
	l.last, l.lent = d.turn, l.lent+1
	l.sessions[session] = struct{}{}
	return l, nil
}

func (d *desk) give(l *line) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.lent--; l.away && l.lent == 0 {
		l.client.CloseIdleConnections()
	}
}

// crowdOut puts the line away that was taken longest ago.
func (d *desk) crowdOut() {
	var oldest *settings
	for s, l := range d.lines {
		if oldest == nil || l.last < d.lines[oldest].last {
			oldest = s
		}
	}
	d.putAway(oldest)
}

func (d *desk) putAway(s *settings) {
	l := d.lines[s]
	delete(d.lines, s)
	if l.away = true; l.lent == 0 {
		l.client.CloseIdleConnections()
	}
}

// ended puts away what only that session used.
func (d *desk) ended(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s, l := range d.lines {
		if delete(l.sessions, session); len(l.sessions) == 0 {
			d.putAway(s)
		}
	}
}

func (d *desk) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for s := range d.lines {
		d.putAway(s)
	}
	return nil
}
