// Package connpool holds the open database connections of each session.
//
// # Law
//
//   - A connection belongs to one session and has an ID in it.
//   - Closing a connection cancels the calls that use it, in the database, waits
//     for them to release it, and closes it then.
//   - CloseSession and Close return when this is done, so that nothing is left
//     behind.
package connpool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"callgate/internal/amount"
	"callgate/internal/module/database/engine"
	"callgate/internal/nearest"
	"callgate/tool"
)

// ErrClosed is the cause of a context that ended with its connection.
var ErrClosed = errors.New("the connection was closed")

// Pool holds the connections of all sessions. It is safe for concurrent use.
type Pool struct {
	mu       sync.Mutex
	sessions map[string]map[string]*Conn
	closed   bool
}

// Conn is one connection of a session.
type Conn struct {
	ID, Driver string
	Engine     engine.Engine
	ReadOnly   bool // the app allowed no writes when it was opened

	ctx    context.Context // ends when the connection is closed
	cancel context.CancelFunc
}

// New returns an empty pool.
func New() *Pool { return &Pool{sessions: map[string]map[string]*Conn{}} }

// Add adds a connection to a session that may have at most limit of them. It
// closes the connection that had the same ID, and reports whether one had it.
// Where it returns an error, it closes c.
func (p *Pool) Add(session string, c *Conn, limit int) (replaced bool, err error) {
	c.ctx, c.cancel = context.WithCancel(context.Background())
	old, err := p.put(session, c, limit)
	if err != nil {
		return false, errors.Join(err, c.close())
	}
	if old != nil {
		return true, old.close()
	}
	return false, nil
}

func (p *Pool) put(session string, c *Conn, limit int) (old *Conn, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	conns := p.sessions[session]
	old = conns[c.ID]
	switch {
	case p.closed:
		return nil, tool.Errorf("", tool.Unavailable, "the kernel is closing")
	case old == nil && len(conns) >= limit:
		return nil, tool.Errorf("", tool.Limited, "the session has %s already: %s",
			amount.Of(len(conns), "connection"), strings.Join(slices.Sorted(maps.Keys(conns)), ", ")).
			WithHint("close one with database.disconnect, or connect again under its connection_id")
	case conns == nil:
		conns = map[string]*Conn{}
		p.sessions[session] = conns
	}
	conns[c.ID] = c
	return old, nil
}

// Find returns a connection of a session. An error lists the connections that
// are open.
func (p *Pool) Find(session, id string) (*Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.find(session, id)
}

func (p *Pool) find(session, id string) (*Conn, error) {
	conns := p.sessions[session]
	if c := conns[id]; c != nil {
		return c, nil
	}
	e := tool.Errorf("", tool.NotFound, "there is no connection %q", tool.Truncate(id))
	known := slices.Sorted(maps.Keys(conns))
	if len(known) == 0 {
		return nil, e.WithHint("none is open: use database.connect first, or a setup step of the app file")
	}
	e.Similar = nearest.Names(id, known, 3)
	return nil, e.WithHint("open are: %s", strings.Join(known, ", "))
}

// List returns the connections of a session, sorted by ID.
func (p *Pool) List(session string) []*Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	byID := func(a, b *Conn) int { return strings.Compare(a.ID, b.ID) }
	return slices.SortedFunc(maps.Values(p.sessions[session]), byID)
}

// Remove closes one connection.
func (p *Pool) Remove(session, id string) error {
	p.mu.Lock()
	c, err := p.find(session, id)
	if err == nil {
		delete(p.sessions[session], id)
		if len(p.sessions[session]) == 0 {
			delete(p.sessions, session)
		}
	}
	p.mu.Unlock()
	if err != nil {
		return err
	}
	return c.close()
}

// CloseSession closes the connections of a session.
func (p *Pool) CloseSession(session string) {
	p.mu.Lock()
	conns := p.sessions[session]
	delete(p.sessions, session)
	p.mu.Unlock()
	_ = closeAll(conns)
}

// Close closes every connection. The pool accepts no more.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	all := p.sessions
	p.sessions = map[string]map[string]*Conn{}
	p.mu.Unlock()
	var errs []error
	for _, conns := range all {
		errs = append(errs, closeAll(conns))
	}
	return errors.Join(errs...)
}

// closeAll closes connections in parallel, since one of them may have to wait.
func closeAll(conns map[string]*Conn) error {
	errs := make(chan error, len(conns))
	for _, c := range conns {
		go func() { errs <- c.close() }()
	}
	var all []error
	for range conns {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

func (c *Conn) close() error {
	c.cancel()
	return c.Engine.Close()
}

// Bind returns a context that also ends when the connection is closed; its cause
// is then ErrClosed. The caller calls release when the call is done.
func (c *Conn) Bind(ctx context.Context) (bound context.Context, release func()) {
	bound, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { end(ErrClosed) })
	return bound, func() { stop(); end(nil) }
}
