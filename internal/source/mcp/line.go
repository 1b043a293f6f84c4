package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"callgate/internal/source/mcp/retry"
	"callgate/tool"
)

// line keeps the one connection of a server.
//
// At most one attempt is under way; it belongs to nobody in particular and
// goes on when the call that started it goes away. A link is used by many at
// once. One that fails a request is retired: new calls get another, those on it
// end as they may, and it is closed when the last has.
type line struct {
	ctx     context.Context // ends when the server is stopped
	cancel  context.CancelFunc
	breaker retry.Breaker

	mu      sync.Mutex
	link    *link
	attempt *attempt
	was     bool           // there has been a link
	links   sync.WaitGroup // links that are not gone yet
	last    error          // why it was last not to be had, or ended
	idle    *time.Timer
	level   LogLevel // from which on somebody wants to hear of its work
}

// attempt is one try to connect, shared by all who wait for it.
type attempt struct {
	done chan struct{}
	err  error // readable when done is closed
}

// connect returns the server's link, made first when there is none, and
// whether it was made just now. The caller gives it back with free.
func (s *Server) connect(ctx context.Context) (l *link, fresh bool, err error) {
	for {
		s.line.mu.Lock()
		if s.line.ctx.Err() != nil {
			s.line.mu.Unlock()
			return nil, false, tool.Errorf("mcp.connect", tool.Unavailable, "the MCP server %s has been stopped", s.cfg.Name)
		}
		if l := s.line.link; l != nil && l.ctx.Err() == nil {
			l.uses++
			s.line.mu.Unlock()
			return l, fresh, nil
		}
		a := s.line.attempt
		joined := a != nil
		if !joined {
			a = &attempt{done: make(chan struct{})}
			s.line.attempt = a
			go s.try(a)
		}
		s.line.mu.Unlock()
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

// try makes one attempt. The link is there to be used before anybody is told
// what it brought, and that is told before the attempt is over.
func (s *Server) try(a *attempt) {
	l, err := s.tryOnce(s.line.ctx)
	s.line.mu.Lock()
	s.line.attempt = nil
	again := s.line.was
	if err == nil {
		s.line.link, s.line.last, s.line.was = l, nil, true
	}
	s.line.mu.Unlock()
	if err == nil {
		s.replace(l.manifest)
		if again {
			s.hub.background(func() { s.rewatch(l) })
		}
	}
	a.err = err
	close(a.done)
}

func (s *Server) tryOnce(ctx context.Context) (*link, error) {
	allowed, err := s.line.breaker.Wait(ctx)
	if err != nil {
		return nil, stopped(ctx, "before the MCP server "+s.cfg.Name+" was tried again")
	}
	if !allowed {
		return nil, s.tooOften()
	}
	l, err := s.dialWithConsent(ctx)
	if err == nil {
		return l, nil
	}
	err = s.secrets.HideError(err)
	if ctx.Err() == nil && tool.KindOf(err) != tool.Denied { // who must be allowed first has not failed
		s.line.breaker.Failed()
	}
	s.line.mu.Lock()
	s.line.last = err
	s.line.mu.Unlock()
	return nil, err
}

// dialWithConsent connects, unless somebody has something against it.
func (s *Server) dialWithConsent(ctx context.Context) (*link, error) {
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

// tooOften is the error while the breaker is open.
func (s *Server) tooOften() error {
	state := s.line.breaker.State()
	s.line.mu.Lock()
	last := s.line.last
	s.line.mu.Unlock()
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
func (n *line) free(l *link) {
	n.mu.Lock()
	l.uses--
	over := l.retired && l.uses == 0
	n.mu.Unlock()
	if over {
		l.close()
	}
}

// retire takes a link out of use: it has failed a request.
func (n *line) retire(l *link) {
	n.mu.Lock()
	l.retired = true
	if n.link == l {
		n.link = nil
	}
	over := l.uses == 0
	n.mu.Unlock()
	if over {
		l.close()
	}
}

// lost notes that a link has ended.
func (n *line) lost(l *link, why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.link == l {
		n.link = nil
		n.last = why
	}
}

// drop closes the current link, if any, and waits for its end.
func (n *line) drop() {
	n.mu.Lock()
	l := n.link
	n.link = nil
	n.mu.Unlock()
	if l != nil {
		l.close()
		<-l.done
	}
}

// reset forgets the failures and the current link: something has changed.
func (n *line) reset() {
	n.breaker.Succeeded()
	n.mu.Lock()
	l := n.link
	n.mu.Unlock()
	if l != nil {
		n.retire(l)
	}
}

// stop ends the server for good.
func (s *Server) stop() {
	s.line.cancel()
	s.line.mu.Lock()
	a := s.line.attempt
	if s.line.idle != nil {
		s.line.idle.Stop()
	}
	s.line.mu.Unlock()
	if a != nil {
		<-a.done
	}
	s.line.drop()
	s.line.links.Wait()
}

// Restart stops the server, forgets its failures and starts it again.
func (s *Server) Restart(ctx context.Context) error {
	s.line.breaker.Succeeded()
	s.line.drop()
	return s.Refresh(ctx)
}

// idleAfter stops a server that nobody uses for long enough.
func (s *Server) idleAfter() {
	if s.cfg.IdleStop == 0 {
		return
	}
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	if s.line.idle != nil {
		s.line.idle.Reset(s.cfg.IdleStop)
		return
	}
	s.line.idle = time.AfterFunc(s.cfg.IdleStop, func() {
		if !s.desk.quiet(s.cfg.IdleStop) || !s.watches.Empty() {
			s.idleAfter()
			return
		}
		s.line.mu.Lock()
		l := s.line.link
		s.line.mu.Unlock()
		if l != nil {
			s.line.retire(l)
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
