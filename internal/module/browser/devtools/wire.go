// Package devtools speaks the DevTools protocol with a browser: many sessions over
// one connection.
//
// chromedp has such a connection too; its transport and its words are used
// here. What it keeps for each tab (a mirror of the page's document, fed
// through queues of a fixed size) is not: a page that changes itself fast
// enough fills the queues, and then every tab of every session waits for it.
//
// # Law
//
//  1. One goroutine reads. It never waits for anybody: an answer goes to the
//     call that waits for it, and an event to the end of its session's queue,
//     which has no bound.
//  2. The events of a session are handled one after the other, in the order in
//     which they came, by a goroutine of that session. A handler may call, for
//     answers do not pass through the queue; it must not wait for an event.
//  3. A session exists from the moment its attachment is read, so none of its
//     events is lost. When it ends, the calls that wait for it end with
//     [ErrGone], and so does every later one.
//  4. When the connection ends, every session does. Close returns when the
//     reader and all handlers have.
package devtools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
)

// ErrClosed is the end of a call whose session ended: the tab was closed, or the
// browser is no more.
var ErrClosed = errors.New("the tab or the browser was closed")

// Transport carries messages. One goroutine reads from it; many may write.
type Transport interface {
	Read(context.Context, *cdproto.Message) error
	Write(context.Context, *cdproto.Message) error
	Close() error
}

// Conn is a connection to a browser.
type Conn struct {
	transport Transport
	root      *Session
	handlers  sync.WaitGroup
	read      chan struct{} // closed when the reader has ended

	mu       sync.Mutex
	next     int64
	waiting  map[int64]*PendingReply
	sessions map[target.SessionID]*Session
	ended    bool
}

// Open begins to speak.
func Open(t Transport) *Conn {
	c := &Conn{transport: t, read: make(chan struct{}), waiting: map[int64]*PendingReply{}, sessions: map[target.SessionID]*Session{}}
	c.root = newSession(c, "")
	go c.reader()
	return c
}

// Browser is the session with the browser itself.
func (c *Conn) Browser() *Session { return c.root }

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.root.gone }

// Close ends the connection.
func (c *Conn) Close() {
	_ = c.transport.Close()
	<-c.read
	c.handlers.Wait()
}

func (c *Conn) reader() {
	defer close(c.read)
	defer c.end()
	for {
		m := new(cdproto.Message)
		err := c.transport.Read(context.Background(), m)
		var malformed *jsonv2.SyntacticError
		switch {
		case errors.As(err, &malformed):
			continue // one message that cannot be read; its caller times out
		case err != nil:
			return
		case m.ID != 0:
			c.answer(m)
		case m.Method != "":
			c.event(m)
		}
	}
}

func (c *Conn) answer(m *cdproto.Message) {
	c.mu.Lock()
	r := c.waiting[m.ID]
	delete(c.waiting, m.ID)
	c.mu.Unlock()
	if r != nil {
		r.message = m
		close(r.done)
	}
}

// event queues an event, and makes or ends the session that it speaks of.
func (c *Conn) event(m *cdproto.Message) {
	c.mu.Lock()
	s := c.sessions[m.SessionID]
	if m.SessionID == "" {
		s = c.root
	}
	c.mu.Unlock()
	if s == nil {
		return // a session that ended still has some on the way
	}
	value, err := cdproto.UnmarshalMessage(m, jsonv2.AllowInvalidUTF8(true))
	if err != nil {
		return // of a browser newer than these words: nobody here listens for it
	}
	switch e := value.(type) {
	case *target.EventAttachedToTarget:
		value = Attached{Session: c.Session(e.SessionID), Target: e.TargetInfo, Waiting: e.WaitingForDebugger}
	case *target.EventDetachedFromTarget:
		c.drop(e.SessionID)
	}
	s.push(value)
}

// Session returns the session of an id that the browser gave, new or known.
func (c *Conn) Session(id target.SessionID) *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[id]
	if s == nil {
		s = newSession(c, id)
		c.sessions[id] = s
		if c.ended {
			s.end()
		}
	}
	return s
}

func (c *Conn) drop(id target.SessionID) {
	c.mu.Lock()
	s := c.sessions[id]
	delete(c.sessions, id)
	maps.DeleteFunc(c.waiting, func(_ int64, r *PendingReply) bool { return s != nil && r.session == s })
	c.mu.Unlock()
	if s != nil {
		s.end()
	}
}

func (c *Conn) end() {
	_ = c.transport.Close()
	c.mu.Lock()
	c.ended = true
	all := c.sessions
	c.sessions = map[target.SessionID]*Session{}
	c.mu.Unlock()
	for _, s := range all {
		s.end()
	}
	c.root.end()
}

// Attached is the event that a target has a session now, in the place of the
// protocol's own.
type Attached struct {
	Session *Session
	Target  *target.Info
	Waiting bool // it runs when it is told to
}

// PendingReply is the answer to a command, which may still be on its way.
type PendingReply struct {
	session *Session
	id      int64
	method  string
	done    chan struct{}
	message *cdproto.Message // set before done is closed
	failed  error            // it could not be sent
}

// Wait waits for the answer and reads it into result, unless that is nil.
func (r *PendingReply) Wait(ctx context.Context, result any) error {
	if r.failed != nil {
		return r.failed
	}
	select {
	case <-r.done:
		return r.read(result)
	case <-ctx.Done():
	case <-r.session.gone:
		select {
		case <-r.done: // it came just before the end
			return r.read(result)
		default:
		}
	}
	c := r.session.conn
	c.mu.Lock()
	delete(c.waiting, r.id)
	c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrClosed
}

func (r *PendingReply) read(result any) error {
	switch {
	case r.message.Error != nil:
		return fmt.Errorf("%s: %w", r.method, r.message.Error)
	case result == nil:
		return nil
	default:
		return jsonv2.Unmarshal(r.message.Result, result, jsonv2.AllowInvalidUTF8(true))
	}
}

// Call runs a command in a session and returns its result.
func Call[P, R any](ctx context.Context, s *Session, c cdp.Command[P, R], params P) (R, error) {
	var result R
	err := s.Send(c.Method, params).Wait(ctx, &result)
	return result, err
}

// Exec runs a command whose result says nothing.
func Exec[P, R any](ctx context.Context, s *Session, c cdp.Command[P, R], params P) error {
	return s.Send(c.Method, params).Wait(ctx, nil)
}

// Start sends a command. Its reply may be waited for later, or never.
func Start[P, R any](s *Session, c cdp.Command[P, R], params P) *PendingReply {
	return s.Send(c.Method, params)
}
