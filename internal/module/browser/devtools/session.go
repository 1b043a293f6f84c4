package devtools

import (
	"context"
	"sync"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
)

// Session carries the commands and events of one target: the browser, a page, or a
// frame that has a process of its own.
type Session struct {
	ID      target.SessionID
	conn    *Conn
	done    chan struct{} // closed when the session has ended
	crashed chan struct{} // closed when the page's process died
	wake    chan struct{} // holds one token when something was queued

	mu       sync.Mutex
	queue    []any
	hasEnded bool
	hasDied  bool
}

func newSession(c *Conn, id target.SessionID) *Session {
	return &Session{
		ID: id, conn: c,
		done: make(chan struct{}), crashed: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.done }

// Crashed is closed when the page's process has died. The handler may see the event later.
func (s *Session) Crashed() <-chan struct{} { return s.crashed }

// Handle sets the session's handler, which is called with each event, including those
// that arrived before. It may be called once.
func (s *Session) Handle(handler func(event any)) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return // Close may already be waiting for the handlers
	}
	c.handlers.Go(func() { s.pump(handler) })
}

func (s *Session) pump(handler func(event any)) {
	for ended := false; !ended; {
		select {
		case <-s.wake:
		case <-s.done:
			ended = true
		}
		for _, event := range s.take() {
			if b, ok := event.(barrier); ok {
				close(b)
				continue
			}
			handler(event)
		}
	}
}

// barrier is queued among events; the handler's goroutine closes it when it gets there.
type barrier chan struct{}

// WaitHandled waits until the handler has seen every event that arrived before the
// reply to the caller's last command: replies overtake events.
func (s *Session) WaitHandled(ctx context.Context) {
	b := make(barrier)
	s.push(b)
	select {
	case <-b:
	case <-ctx.Done():
	case <-s.done:
	}
}

func (s *Session) take() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.queue
	s.queue = nil
	return events
}

func (s *Session) push(event any) {
	s.mu.Lock()
	s.queue = append(s.queue, event)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hasEnded {
		s.hasEnded = true
		close(s.done)
	}
}

func (s *Session) crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hasDied {
		s.hasDied = true
		close(s.crashed)
	}
}

// err says why the session takes no more commands, or nil if it does.
func (s *Session) err() error {
	select {
	case <-s.done:
		return ErrClosed
	default:
	}
	select {
	case <-s.crashed:
		return ErrCrashed
	default:
		return nil
	}
}

// Send sends a command and returns at once.
func (s *Session) Send(method string, params any) *PendingReply {
	r := &PendingReply{session: s, method: method, done: make(chan struct{})}
	raw, err := jsonv2.Marshal(params, jsonv2.AllowInvalidUTF8(true))
	if err == nil {
		err = s.err()
	}
	if err != nil {
		r.failed = err
		return r
	}
	c := s.conn
	c.mu.Lock()
	c.lastID++
	r.id = c.lastID
	c.pending[r.id] = r
	c.mu.Unlock()
	m := &cdproto.Message{ID: r.id, SessionID: s.ID, Method: cdproto.MethodType(method), Params: raw}
	if err := c.transport.Write(context.Background(), m); err != nil {
		c.mu.Lock()
		delete(c.pending, r.id)
		c.mu.Unlock()
		r.failed = ErrClosed
	}
	return r
}
