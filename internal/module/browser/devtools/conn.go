// Package devtools speaks the DevTools protocol with a browser: many sessions over
// one connection.
//
// It uses the transport and the message types of chromedp, and not chromedp's own
// connection. That one keeps a mirror of each page's document, fed through queues of
// a fixed size: a page that changes fast enough fills its queue, and then every tab
// of every session waits for it.
//
// # Law
//
//  1. One goroutine reads. It never blocks on a receiver: a reply goes to the call
//     that waits for it, and an event to the end of its session's queue, which has
//     no bound.
//  2. A goroutine per session handles its events one by one, in the order in which
//     they arrived. A handler may make calls, because replies do not pass through
//     the queue; it must not wait for an event.
//  3. A session exists from the moment its attachment is read, so none of its events
//     is lost. When it ends, its pending calls fail with [ErrClosed], and so does
//     every later one. When its page crashes, they fail with [ErrCrashed]: the
//     browser holds back what is sent to a page without a process.
//  4. When the connection ends, every session ends, the browser's own first: who sees
//     a tab's session end can tell whether the browser is gone. Close returns after
//     the reader and all handlers have returned.
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
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/target"
)

var (
	// ErrClosed is the error of a call whose session ended: the tab was closed, or
	// the browser exited.
	ErrClosed = errors.New("the tab or the browser was closed")
	// ErrCrashed is the error of a call to a page whose process died.
	ErrCrashed = errors.New("the page crashed")
)

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
	read      chan struct{} // closed when the reader has returned

	mu       sync.Mutex
	lastID   int64
	pending  map[int64]*PendingReply
	sessions map[target.SessionID]*Session
	ended    bool
}

// Open starts a connection over the transport.
func Open(t Transport) *Conn {
	c := &Conn{
		transport: t, read: make(chan struct{}),
		pending: map[int64]*PendingReply{}, sessions: map[target.SessionID]*Session{},
	}
	c.root = newSession(c, "")
	go c.reader()
	return c
}

// Browser returns the session with the browser itself.
func (c *Conn) Browser() *Session { return c.root }

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.root.done }

// Close ends the connection, and returns after the last handler has returned.
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
			continue // the caller of this one message times out
		case err != nil:
			return
		case m.ID != 0:
			c.reply(m)
		case m.Method != "":
			c.event(m)
		}
	}
}

func (c *Conn) reply(m *cdproto.Message) {
	c.mu.Lock()
	r := c.pending[m.ID]
	delete(c.pending, m.ID)
	c.mu.Unlock()
	if r != nil {
		r.message = m
		close(r.done)
	}
}

// event queues an event, and first creates or ends the session that it names.
func (c *Conn) event(m *cdproto.Message) {
	c.mu.Lock()
	s := c.sessions[m.SessionID]
	if m.SessionID == "" {
		s = c.root
	}
	c.mu.Unlock()
	if s == nil {
		return // late events of a session that ended
	}
	value, err := cdproto.UnmarshalMessage(m, jsonv2.AllowInvalidUTF8(true))
	if err != nil {
		return // an event of a newer browser, which nothing here handles
	}
	switch e := value.(type) {
	case *target.EventAttachedToTarget:
		value = Attached{Session: c.Session(e.SessionID), Target: e.TargetInfo, Waiting: e.WaitingForDebugger}
	case *target.EventDetachedFromTarget:
		c.drop(e.SessionID)
	case *inspector.EventTargetCrashed:
		s.crash()
	}
	s.push(value)
}

// Session returns the session of an id that the browser assigned, and creates it if
// it is new.
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
	maps.DeleteFunc(c.pending, func(_ int64, r *PendingReply) bool { return s != nil && r.session == s })
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
	c.root.end()
	for _, s := range all {
		s.end()
	}
}

// Attached reports that a target has a session. It replaces the protocol's own event.
type Attached struct {
	Session *Session
	Target  *target.Info
	Waiting bool // the target is paused until Runtime.runIfWaitingForDebugger
}

// PendingReply is the reply to a command that was sent.
type PendingReply struct {
	session *Session
	id      int64
	method  string
	done    chan struct{}
	message *cdproto.Message // set before done is closed
	failed  error            // why the command could not be sent
}

// Wait waits for the reply and decodes it into result, unless that is nil.
func (r *PendingReply) Wait(ctx context.Context, result any) error {
	if r.failed != nil {
		return r.failed
	}
	select {
	case <-r.done:
		return r.decode(result)
	case <-ctx.Done():
	case <-r.session.done:
	case <-r.session.crashed:
	}
	select {
	case <-r.done: // it arrived just before the end
		return r.decode(result)
	default:
	}
	c := r.session.conn
	c.mu.Lock()
	delete(c.pending, r.id)
	c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.session.err()
}

func (r *PendingReply) decode(result any) error {
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

// Exec runs a command and ignores its result.
func Exec[P, R any](ctx context.Context, s *Session, c cdp.Command[P, R], params P) error {
	return s.Send(c.Method, params).Wait(ctx, nil)
}

// Start sends a command. The caller may wait for its reply later, or ignore it.
func Start[P, R any](s *Session, c cdp.Command[P, R], params P) *PendingReply {
	return s.Send(c.Method, params)
}
