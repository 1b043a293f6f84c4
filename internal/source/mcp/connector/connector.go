// Package connector keeps the one connection to an MCP server: it makes it when
// it is needed, shares it, replaces it when it fails, and stops it.
//
// # Law
//
// At most one attempt to connect is under way. It belongs to no call: it goes
// on when the call that started it is cancelled, and all who need the server
// wait for it.
//
// A connection is used by many calls at once. A connection that fails a request
// is retired: new calls get another, the calls on it end as they may, and it is
// closed after the last of them.
//
// After a failure the next attempt waits, and after several in a row no attempt
// is made for a while: see the package retry. Missing consent is not a failure.
package connector

import (
	"context"
	"sync"
	"time"

	"callgate/internal/source/mcp/requests"
	"callgate/internal/source/mcp/retry"
	"callgate/tool"
)

// Conn is a connection. It embeds a [Usage].
type Conn interface {
	comparable
	Context() context.Context // ends with the connection
	Close()                   // does not wait
	Done() <-chan struct{}    // closed when nothing of it is left
	Uses() *Usage
}

// Usage is how a connection is used. The connector alone looks at it.
type Usage struct {
	calls   int // that use the connection now
	retired bool
	failed  bool // its failure is counted: it is one, however many calls end with it
}

// Uses returns the usage of the connection that embeds it.
// Uses returns the usage of the connection that embeds it.
func (u *Usage) Uses() *Usage { return u }

// Options is what a Connector needs to know of its server.
type Options[C Conn] struct {
	Server   string                           // its name, for errors
	IdleStop time.Duration                    // a connection without requests for so long is retired; 0: never
	Dial     func(context.Context) (C, error) // makes a connection
	// Connected is called when a connection can be used, before those who wait
	// for it go on; again says that it is not the first one.
	Connected func(c C, again bool)
	// InUse reports whether an idle server must not be stopped.
	InUse func() bool
	// Gone returns when nothing is left of the connections that were closed.
	Gone func()
}

// Connector keeps the connection to one server.
type Connector[C Conn] struct {
	opt     Options[C]
	ctx     context.Context // ends when the server is stopped
	cancel  context.CancelFunc
	breaker retry.Breaker

	mu              sync.Mutex
	current         C // zero: none
	attempt         *attempt
	connectedBefore bool
	last            error // why the last attempt failed, or the last connection ended
	idle            *time.Timer
}

// attempt is one try to connect, shared by all who wait for it.
type attempt struct {
	done chan struct{}
	err  error // readable when done is closed
}

// New makes a connector that is stopped when ctx ends, at the latest.
func New[C Conn](ctx context.Context, opt Options[C]) *Connector[C] {
	n := &Connector[C]{opt: opt}
	n.ctx, n.cancel = context.WithCancel(ctx)
	return n
}

// Context ends when the server is stopped.
func (n *Connector[C]) Context() context.Context { return n.ctx }

// Get returns the connection, made first when there is none, and whether it was
// made for this call: an attempt that was under way may have asked the server before.
// The caller gives it back with Free.
func (n *Connector[C]) Get(ctx context.Context) (c C, fresh bool, err error) {
	var none C
	for {
		c, a, joined, err := n.currentOrAttempt()
		if c != none || err != nil {
			return c, fresh, err
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return none, false, requests.Interrupted(ctx, "while the MCP server "+n.opt.Server+" was being started")
		}
		if joined && tool.KindOf(a.err) == tool.Denied {
			continue // the attempt may be older than a human's consent
		}
		if a.err != nil {
			return none, false, a.err
		}
		fresh = !joined
	}
}

// currentOrAttempt returns the connection, for use, or the attempt to make one,
// and whether that was under way already.
func (n *Connector[C]) currentOrAttempt() (c C, a *attempt, joined bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil {
		return c, nil, false, tool.Errorf("mcp.connect", tool.Unavailable, "the MCP server %s has been stopped", n.opt.Server)
	}
	if c := n.openLocked(); c != *new(C) {
		c.Uses().calls++
		return c, nil, false, nil
	}
	if n.attempt != nil {
		return c, n.attempt, true, nil
	}
	n.attempt = &attempt{done: make(chan struct{})}
	go n.run(n.attempt)
	return c, n.attempt, false, nil
}

// run makes one attempt. The connection can be used before Connected is called,
// and that returns before the attempt is over.
func (n *Connector[C]) run(a *attempt) {
	c, err := n.try()
	n.mu.Lock()
	n.attempt = nil
	again := n.connectedBefore
	if err == nil {
		n.current, n.last, n.connectedBefore = c, nil, true
	}
	n.mu.Unlock()
	if err == nil {
		n.opt.Connected(c, again)
	}
	a.err = err
	close(a.done)
}

// try connects when the breaker allows it.
func (n *Connector[C]) try() (c C, err error) {
	allowed, err := n.breaker.Wait(n.ctx)
	if err != nil {
		return c, requests.Interrupted(n.ctx, "before the MCP server "+n.opt.Server+" was tried again")
	}
	if !allowed {
		return c, n.breakerError()
	}
	if c, err = n.opt.Dial(n.ctx); err == nil {
		return c, nil
	}
	if n.ctx.Err() == nil && tool.KindOf(err) != tool.Denied {
		n.breaker.Failed()
	}
	n.mu.Lock()
	n.last = err
	n.mu.Unlock()
	return c, err
}

// breakerError is the error while the breaker is open.
func (n *Connector[C]) breakerError() error {
	state := n.breaker.State()
	n.mu.Lock()
	last := n.last
	n.mu.Unlock()
	wait := max(time.Until(state.Next), 0).Round(time.Second)
	e := tool.Errorf("mcp.connect", tool.Unavailable,
		"the MCP server %s failed %d times in a row, and is not tried before %s (in %v)",
		n.opt.Server, state.Failures, state.Next.Format(time.TimeOnly), wait).
		WithHint("see callgate mcp logs %s; callgate mcp restart %s tries at once", n.opt.Server, n.opt.Server)
	if last != nil {
		e.Message += "; the last time: " + last.Error()
	}
	return e
}

// Open returns the connection if there is one, and the zero value otherwise. It
// must not be freed.
func (n *Connector[C]) Open() C {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.openLocked()
}

func (n *Connector[C]) openLocked() (c C) {
	if n.current != c && n.current.Context().Err() == nil {
		return n.current
	}
	return c
}

// Free gives a connection back.
func (n *Connector[C]) Free(c C) {
	n.mu.Lock()
	u := c.Uses()
	u.calls--
	over := u.retired && u.calls == 0
	n.mu.Unlock()
	if over {
		c.Close()
	}
}

// Retire takes a connection out of use: it has failed a request.
func (n *Connector[C]) Retire(c C) {
	n.mu.Lock()
	u := c.Uses()
	u.retired = true
	n.forgetLocked(c)
	over := u.calls == 0
	n.mu.Unlock()
	if over {
		c.Close()
	}
}

// forgetLocked makes room for another connection, and reports whether c was the
// current one.
func (n *Connector[C]) forgetLocked(c C) bool {
	if n.current != c {
		return false
	}
	n.current = *new(C)
	return true
}

// Failed counts the failure of a connection. Succeeded forgets all failures.
func (n *Connector[C]) Failed(c C) {
	n.mu.Lock()
	u := c.Uses()
	counted := u.failed
	u.failed = true
	n.mu.Unlock()
	if !counted {
		n.breaker.Failed()
	}
}

// Succeeded notes that the server works.
func (n *Connector[C]) Succeeded() { n.breaker.Succeeded() }

// Lost notes that a connection has ended, and why; err is nil when it was
// closed.
func (n *Connector[C]) Lost(c C, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.forgetLocked(c) {
		n.last = err
	}
}

// Drop closes the connection, if there is one, and returns when it is gone.
func (n *Connector[C]) Drop() {
	n.mu.Lock()
	c := n.current
	n.forgetLocked(c)
	n.mu.Unlock()
	if c != *new(C) {
		c.Close()
		<-c.Done()
	}
}

// Reset forgets the failures and retires the connection.
func (n *Connector[C]) Reset() {
	n.breaker.Succeeded()
	n.retireOpen()
}

func (n *Connector[C]) retireOpen() {
	if c := n.Open(); c != *new(C) {
		n.Retire(c)
	}
}

// Stop ends the server for good, and returns when nothing of it is left.
func (n *Connector[C]) Stop() {
	n.cancel()
	n.mu.Lock()
	a := n.attempt
	if n.idle != nil {
		n.idle.Stop()
	}
	n.mu.Unlock()
	if a != nil {
		<-a.done
	}
	n.Drop()
	n.opt.Gone()
}

// StopWhenIdle retires the connection when the server was not used for long
// enough after this moment.
func (n *Connector[C]) StopWhenIdle() {
	if n.opt.IdleStop == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.idle != nil {
		n.idle.Reset(n.opt.IdleStop)
		return
	}
	n.idle = time.AfterFunc(n.opt.IdleStop, func() {
		if n.opt.InUse() {
			n.StopWhenIdle()
		} else {
			n.retireOpen()
		}
	})
}

// Status describes a connector at one moment.
type Status[C Conn] struct {
	Stopped    bool
	Current    C    // zero: there is none
	Connecting bool // an attempt is under way
	Last       error
	Breaker    retry.State
}

// Status describes the connector now.
func (n *Connector[C]) Status() Status[C] {
	n.mu.Lock()
	defer n.mu.Unlock()
	return Status[C]{
		Stopped: n.ctx.Err() != nil, Current: n.current, Connecting: n.attempt != nil, Last: n.last,
		Breaker: n.breaker.State(),
	}
}
