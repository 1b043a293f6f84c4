package devtools

import (
	"context"
	"sync"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
)

// Session is a conversation with one target: the browser, a page, or a frame
// that has a process of its own.
type Session struct {
	ID   target.SessionID
	conn *Conn
	gone chan struct{}
	wake chan struct{} // holds one token when something was queued

	mu    sync.Mutex
	queue []any
	over  bool
}

func newSession(c *Conn, id target.SessionID) *Session {
	return &Session{ID: id, conn: c, gone: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.gone }

// Handle gives the session its handler, which is called with each event, also
// with those that came before. It is called once at most.
func (s *Session) Handle(handler func(event any)) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return // Close may wait already
	}
	c.handlers.Go(func() { s.pump(handler) })
}

func (s *Session) pump(handler func(event any)) {
	for over := false; !over; {
		select {
		case <-s.wake:
		case <-s.gone:
			over = true
		}
		for _, event := range s.take() {
			if m, ok := event.(barrier); ok {
				close(m)
				continue
			}
			handler(event)
		}
	}
}

// barrier stands in a queue for whoever waits until it is reached.
type barrier chan struct{}

// WaitHandled waits until the handler has seen every event that came before the
// answer to the caller's last command: answers overtake events.
func (s *Session) WaitHandled(ctx context.Context) {
	m := make(barrier)
	s.push(m)
	select {
	case <-m:
	case <-ctx.Done():
	case <-s.gone:
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
	if !s.over {
		s.over = true
		close(s.gone)
	}
}

// Send sends a command and returns at once.
func (s *Session) Send(method string, params any) *PendingReply {
	r := &PendingReply{session: s, method: method, done: make(chan struct{})}
	raw, err := jsonv2.Marshal(params, jsonv2.AllowInvalidUTF8(true))
	if err != nil {
		r.failed = err
		return r
	}
	select {
	case <-s.gone:
		r.failed = ErrClosed
		return r
	default:
	}
	c := s.conn
	c.mu.Lock()
	c.next++
	r.id = c.next
	c.waiting[r.id] = r
	c.mu.Unlock()
	m := &cdproto.Message{ID: r.id, SessionID: s.ID, Method: cdproto.MethodType(method), Params: raw}
	if err := c.transport.Write(context.Background(), m); err != nil {
		c.mu.Lock()
		delete(c.waiting, r.id)
		c.mu.Unlock()
		r.failed = ErrClosed
	}
	return r
}
