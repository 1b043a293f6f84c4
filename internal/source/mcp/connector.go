package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"callgate/internal/source/mcp/retry"
	"callgate/tool"
)

// connState keeps the one connection of a server.
//
// At most one attempt is under way; it belongs to nobody in particular and
// goes on when the call that started it goes away. A link is used by many at
// once. One that fails a request is retired: new calls get another, those on it
// end as they may, and it is closed when the last has.
type connState struct {
	ctx     context.Context // ends when the server is stopped
	cancel  context.CancelFunc
	breaker retry.Breaker

	mu              sync.Mutex
	current         *connection
	attempt         *dialAttempt
	connectedBefore bool           // there has been a link
	links           sync.WaitGroup // links that are not gone yet
	last            error          // why it was last not to be had, or ended
	idle            *time.Timer
	logLevel        LogLevel // from which on somebody wants to hear of its work
}

// dialAttempt is one try to connect, shared by all who wait for it.
type dialAttempt struct {
	done chan struct{}
	err  error // readable when done is closed
}

// connect returns the server's link, made first when there is none, and
// whether it was made just now. The caller gives it back with free.
func (s *Server) connect(ctx context.Context) (l *connection, fresh bool, err error) {
	for {
		s.conn.mu.Lock()
		if s.conn.ctx.Err() != nil {
			s.conn.mu.Unlock()
			return nil, false, tool.Errorf("mcp.connect", tool.Unavailable, "the MCP server %s has been stopped", s.cfg.Name)
		}
		if l := s.conn.current; l != nil && l.ctx.Err() == nil {
			l.uses++
			s.conn.mu.Unlock()
			return l, fresh, nil
		}
		a := s.conn.attempt
		joined := a != nil
		if !joined {
			a = &dialAttempt{done: make(chan struct{})}
			s.conn.attempt = a
			go s.runAttempt(a)
		}
		s.conn.mu.Unlock()
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, false, stopped(ctx, "while the MCP server "+s.cfg.Name+" was being started")
		}
		if joined && tool.KindOf(a.err) == tool.Denied {
			continue // it was refused to somebody earlier: consent may have come since
		}
		if a.err != nil {
			return nil, false, a.err
		}
		fresh = true
	}
}

// runAttempt makes one attempt. The link is there to be used before anybody is told
// what it brought, and that is told before the attempt is over.
func (s *Server) runAttempt(a *dialAttempt) {
	l, err := s.tryOnce(s.conn.ctx)
	s.conn.mu.Lock()
	s.conn.attempt = nil
	again := s.conn.connectedBefore
	if err == nil {
		s.conn.current, s.conn.last, s.conn.connectedBefore = l, nil, true
	}
	s.conn.mu.Unlock()
	if err == nil {
		s.replace(l.manifest)
		if again {
			s.hub.background(func() { s.resubscribe(l) })
		}
	}
	a.err = err
	close(a.done)
}

func (s *Server) tryOnce(ctx context.Context) (*connection, error) {
	allowed, err := s.conn.breaker.Wait(ctx)
	if err != nil {
		return nil, stopped(ctx, "before the MCP server "+s.cfg.Name+" was tried again")
	}
	if !allowed {
		return nil, s.breakerError()
	}
	l, err := s.dialWithConsent(ctx)
	if err == nil {
		return l, nil
	}
	err = s.secrets.RedactError(err)
	if ctx.Err() == nil && tool.KindOf(err) != tool.Denied { // who must be allowed first has not failed
		s.conn.breaker.Failed()
	}
	s.conn.mu.Lock()
	s.conn.last = err
	s.conn.mu.Unlock()
	return nil, err
}

// dialWithConsent connects, unless somebody has something against it.
func (s *Server) dialWithConsent(ctx context.Context) (*connection, error) {
	if may := s.hub.opt.MayStart; may != nil {
		if err := may(s); err != nil {
			var e *tool.Error
			if !errors.As(err, &e) {
				err = tool.Errorf("mcp.connect", tool.Denied, "the MCP server %s may not be started: %v", s.cfg.Name, err)
			}
			return nil, err
		}
	}
	p, err := s.prepare(s.cfg)
	if err != nil {
		return nil, err
	}
	return s.dial(ctx, p)
}

// breakerError is the error while the breaker is open.
func (s *Server) breakerError() error {
	state := s.conn.breaker.State()
	s.conn.mu.Lock()
	last := s.conn.last
	s.conn.mu.Unlock()
	wait := max(time.Until(state.Next), 0).Round(time.Second)
	e := tool.Errorf("mcp.connect", tool.Unavailable, "the MCP server %s failed %d times in a row, and is not tried before %s (in %v)",
		s.cfg.Name, state.Failures, state.Next.Format(time.TimeOnly), wait).
		WithHint("see callgate mcp logs %s; callgate mcp restart %s tries at once", s.cfg.Name, s.cfg.Name)
	if last != nil {
		e.Message += "; the last time: " + last.Error()
	}
	return e
}

// free gives a link back.
func (n *connState) free(l *connection) {
	n.mu.Lock()
	l.uses--
	over := l.retired && l.uses == 0
	n.mu.Unlock()
	if over {
		l.close()
	}
}

// retire takes a link out of use: it has failed a request.
func (n *connState) retire(l *connection) {
	n.mu.Lock()
	l.retired = true
	if n.current == l {
		n.current = nil
	}
	over := l.uses == 0
	n.mu.Unlock()
	if over {
		l.close()
	}
}

// lost notes that a link has ended.
func (n *connState) lost(l *connection, why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.current == l {
		n.current = nil
		n.last = why
	}
}

// drop closes the current link, if any, and waits for its end.
func (n *connState) drop() {
	n.mu.Lock()
	l := n.current
	n.current = nil
	n.mu.Unlock()
	if l != nil {
		l.close()
		<-l.done
	}
}

// reset forgets the failures and the current link: something has changed.
func (n *connState) reset() {
	n.breaker.Succeeded()
	n.mu.Lock()
	l := n.current
	n.mu.Unlock()
	if l != nil {
		n.retire(l)
	}
}

// stop ends the server for good.
func (s *Server) stop() {
	s.conn.cancel()
	s.conn.mu.Lock()
	a := s.conn.attempt
	if s.conn.idle != nil {
		s.conn.idle.Stop()
	}
	s.conn.mu.Unlock()
	if a != nil {
		<-a.done
	}
	s.conn.drop()
	s.conn.links.Wait()
}

// Restart stops the server, forgets its failures and starts it again.
func (s *Server) Restart(ctx context.Context) error {
	s.conn.breaker.Succeeded()
	s.conn.drop()
	return s.Refresh(ctx)
}

// idleAfter stops a server that nobody uses for long enough.
func (s *Server) idleAfter() {
	if s.cfg.IdleStop == 0 {
		return
	}
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	if s.conn.idle != nil {
		s.conn.idle.Reset(s.cfg.IdleStop)
		return
	}
	s.conn.idle = time.AfterFunc(s.cfg.IdleStop, func() {
		if !s.calls.idleFor(s.cfg.IdleStop) || !s.watches.Empty() {
			s.idleAfter()
			return
		}
		s.conn.mu.Lock()
		l := s.conn.current
		s.conn.mu.Unlock()
		if l != nil {
			s.conn.retire(l)
		}
	})
}

// stopped is the error of somebody whose context ended.
func stopped(ctx context.Context, when string) error {
	cause := context.Cause(ctx)
	if tool.KindOf(cause) == tool.Timeout || cause == context.DeadlineExceeded {
		return tool.Errorf("mcp.call", tool.Timeout, "the time for this call ran out %s", when)
	}
	return tool.Errorf("mcp.call", tool.Cancelled, "the call was cancelled %s", when)
}
