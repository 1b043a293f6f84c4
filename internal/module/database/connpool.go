package database

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/nearest"
	"callgate/tool"
)

// connPool is what the module keeps while the kernel runs: the connections of each
// session. A connection that is closed while a call uses it cancels that call
// in the database, waits for it to let go, and is closed then; whoever ends a
// session or the kernel waits for that, so that nothing is left behind.
type connPool struct {
	hidden   []string // files of the kernel's own, which no connection may be
	mu       sync.Mutex
	sessions map[string]map[string]*connection
	closed   bool
	spare    chan *rowset.Writer // one that is not in use, for its memory
}

// connection is one connection of a session.
type connection struct {
	id, driver string
	engine     engine.Engine
	readOnly   bool
	ctx        context.Context // ends when it is closed
	cancel     context.CancelFunc
}

func newConnPool(hidden []string) *connPool {
	return &connPool{hidden: hidden, sessions: map[string]map[string]*connection{}, spare: make(chan *rowset.Writer, 1)}
}

// writer lends a writer of rows. Nothing of it may be used once it is given
// back.
func (r *connPool) writer(l rowset.Limits) *rowset.Writer {
	select {
	case w := <-r.spare:
		w.Reset(l)
		return w
	default:
		return rowset.New(l)
	}
}

func (r *connPool) giveBack(w *rowset.Writer) {
	select {
	case r.spare <- w:
	default:
	}
}

// keep adds a connection, in the place of one that had its id. It reports
// whether there was one.
func (r *connPool) keep(session string, l *connection, most int) (replaced bool, err error) {
	l.ctx, l.cancel = context.WithCancel(context.Background())
	r.mu.Lock()
	links := r.sessions[session]
	old := links[l.id]
	switch {
	case r.closed:
		err = tool.Errorf("", tool.Unavailable, "the kernel is closing")
	case old == nil && len(links) >= most:
		err = tool.Errorf("", tool.Limited, "the session has %d connections already: %s", len(links), strings.Join(slices.Sorted(maps.Keys(links)), ", ")).
			WithHint("close one with database.disconnect, or connect again under its connection_id")
	default:
		if links == nil {
			links = map[string]*connection{}
			r.sessions[session] = links
		}
		links[l.id] = l
	}
	r.mu.Unlock()
	if err != nil {
		return false, errors.Join(err, l.close())
	}
	if old != nil {
		return true, old.close()
	}
	return false, nil
}

// find returns a connection of a session, or says which there are.
func (r *connPool) find(session, id string) (*connection, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	links := r.sessions[session]
	if l := links[id]; l != nil {
		return l, nil
	}
	e := tool.Errorf("", tool.NotFound, "there is no connection %q", tool.Truncate(id))
	known := slices.Sorted(maps.Keys(links))
	if len(known) == 0 {
		return nil, e.WithHint("none is open: use database.connect first, or a setup step of the app file")
	}
	e.Similar = nearest.Names(id, known, 3)
	return nil, e.WithHint("open are: %s", strings.Join(known, ", "))
}

// list returns the connections of a session, by id.
func (r *connPool) list(session string) []*connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.sessions[session]), func(a, b *connection) int { return strings.Compare(a.id, b.id) })
}

// drop closes one connection.
func (r *connPool) drop(session, id string) error {
	l, err := r.find(session, id)
	if err != nil {
		return err
	}
	r.mu.Lock()
	delete(r.sessions[session], id)
	if len(r.sessions[session]) == 0 {
		delete(r.sessions, session)
	}
	r.mu.Unlock()
	return l.close()
}

// ended closes the connections of a session that is over.
func (r *connPool) ended(session string) {
	r.mu.Lock()
	links := r.sessions[session]
	delete(r.sessions, session)
	r.mu.Unlock()
	_ = closeAll(links)
}

// close closes every connection.
func (r *connPool) close() error {
	r.mu.Lock()
	r.closed = true
	all := r.sessions
	r.sessions = map[string]map[string]*connection{}
	r.mu.Unlock()
	var errs []error
	for _, links := range all {
		errs = append(errs, closeAll(links))
	}
	return errors.Join(errs...)
}

// closeAll closes connections side by side: one of them may have to wait.
func closeAll(links map[string]*connection) error {
	errs := make(chan error, len(links))
	for _, l := range links {
		go func() { errs <- l.close() }()
	}
	var all []error
	for range links {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

func (l *connection) close() error {
	l.cancel()
	return l.engine.Close()
}

// name writes a connection where it is not the usual one.
func (l *connection) name() string {
	if l.id == mainConnection {
		return ""
	}
	return l.id + ": "
}
