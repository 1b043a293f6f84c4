package detach

import (
	"context"
	"fmt"
	"sync"
	"time"

	"callgate/tool"
)

// Run runs a call to its end, or until it is moved, and returns what its caller is
// told. path is all that is left of the call; it runs on after a move.
func (c *Call) Run(ctx context.Context, path func(context.Context) *tool.Result) *tool.Result {
	if c.opt.Background {
		close(c.detached)
	}
	ctx, c.cancel = c.context(ctx)
	remove := c.table.add(c)
	finish := func() *tool.Result {
		told := c.end(path(ctx))
		remove()
		return told
	}
	if c.opt.Background || c.Tool.Runtime.Control {
		return finish()
	}
	ends := make(chan *tool.Result, 1)
	go func() { ends <- finish() }()
	select {
	case told := <-ends:
		return told
	case <-c.detached:
		return c.told
	}
}

// context returns the context of the call: it ends with its caller's until the call is
// moved, and with the kernel's from then on.
func (c *Call) context(caller context.Context) (context.Context, context.CancelCauseFunc) {
	if c.opt.Background || c.Tool.Runtime.Control {
		return context.WithCancelCause(caller)
	}
	own, cancel := context.WithCancelCause(context.WithoutCancel(caller))
	stop := context.AfterFunc(caller, func() {
		c.mu.Lock()
		for c.state == beingMoved { // whether it ends with its caller is being decided
			moving := c.moving
			c.mu.Unlock()
			<-moving
			c.mu.Lock()
		}
		follows := c.state == waitedFor
		c.mu.Unlock()
		if follows {
			cancel(context.Cause(caller))
		}
	})
	stopBase := context.AfterFunc(c.table.base, func() { cancel(context.Cause(c.table.base)) })
	context.AfterFunc(own, func() { stop(); stopBase() })
	return own, cancel
}

// end notes that the call has ended, and returns what its caller is told. One that is
// being moved is moved or not, before.
func (c *Call) end(result *tool.Result) *tool.Result {
	c.mu.Lock()
	for c.state == beingMoved {
		moving := c.moving
		c.mu.Unlock()
		<-moving
		c.mu.Lock()
	}
	defer c.mu.Unlock()
	c.cancel(nil)
	told := result
	if c.state == moved {
		told = c.told
	}
	c.state, c.result = ended, result
	if c.release != nil {
		c.release()
	}
	close(c.done)
	return told
}

// move moves the call to the background.
func (c *Call) move(ctx context.Context) error {
	c.mu.Lock()
	for c.state == beingMoved {
		moving := c.moving
		c.mu.Unlock()
		<-moving
		c.mu.Lock()
	}
	if c.state != waitedFor || c.opt.Background || c.table.store == nil {
		defer c.mu.Unlock()
		return c.cannotMove()
	}
	c.state, c.moving = beingMoved, make(chan struct{})
	c.mu.Unlock()
	told, err := c.table.store(ctx, c)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(c.moving)
	if err != nil {
		c.state = waitedFor
		return err
	}
	if c.opt.Keep != nil {
		c.release = c.opt.Keep()
	}
	c.state, c.told = moved, told
	close(c.detached)
	return nil
}

// cannotMove says why the call is not moved; nil: it was.
func (c *Call) cannotMove() error {
	const op = "detach.Move"
	switch {
	case c.state == moved || c.opt.Background:
		return nil
	case c.state == ended:
		return tool.Errorf(op, tool.Conflict, "the call %s has ended", c.Call.ID)
	}
	return tool.Errorf(op, tool.Unavailable, "this kernel moves no calls to the background")
}

// Within returns the context of the handler, which ends after a time unless the call
// is in the background then. The clock of a call that moves by itself starts here.
func (c *Call) Within(ctx context.Context, limit time.Duration, settings any) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	c.began = time.Now()
	c.mu.Unlock()
	var timers []*time.Timer
	if limit > 0 {
		timers = append(timers, time.AfterFunc(limit, func() {
			if !c.isDetached() {
				cancel(tool.Errorf("detach.Within", tool.Timeout, "the call ran for %v, the longest it may", limit).
					WithHint("do less in one call, or run it in the background"))
			}
		}))
	}
	if after := c.moveAfter(settings); after > 0 {
		timers = append(timers, time.AfterFunc(after, func() {
			// If it cannot be moved it stays, with the limit that it has there.
			_ = c.move(context.WithoutCancel(ctx))
		}))
	}
	return ctx, func() {
		for _, timer := range timers {
			timer.Stop()
		}
		cancel(nil)
	}
}

// moveAfter is after how long the call moves by itself; 0: it does not.
func (c *Call) moveAfter(settings any) time.Duration {
	m, moves := c.Tool.Handler.(Mover)
	if !moves || c.opt.Background {
		return 0
	}
	after, asked := m.MoveAfter(c.Call.Args, settings)
	if !asked && !c.opt.Movable {
		return 0
	}
	return after
}

func (c *Call) isDetached() bool {
	select {
	case <-c.detached:
		return true
	default:
		return false
	}
}

// Detached is closed when nobody waits for the call: see tool.Background.
func (c *Call) Detached() <-chan struct{} { return c.detached }

// OnDetach calls f when nobody waits for the call, unless stop is called before. A nil
// call always has somebody who waits.
func (c *Call) OnDetach(f func()) (stop func()) {
	if c == nil {
		return func() {}
	}
	stopped := make(chan struct{})
	go func() {
		select {
		case <-c.detached:
			f()
		case <-stopped:
		}
	}()
	return sync.OnceFunc(func() { close(stopped) })
}

// Attach offers a process of the call: see tool.Background.
func (c *Call) Attach(p tool.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process = p
	if p != nil {
		select {
		case <-c.offered:
		default:
			close(c.offered)
		}
	}
}

// processTime is how long the process of a handler that has begun is waited for: one that
// goes on in the background may be told of before its sandbox stands.
const processTime = 10 * time.Second

// Process returns the process of the call that can be written to and signalled; an
// error if there is none. It waits for the one of a tool whose calls go on in the
// background by themselves, once its handler has begun.
func (c *Call) Process(ctx context.Context) (tool.Process, error) {
	if _, moves := c.Tool.Handler.(Mover); moves && c.hasBegun() {
		ctx, cancel := context.WithTimeout(ctx, processTime)
		defer cancel()
		select {
		case <-c.offered:
		case <-c.done:
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return nil, tool.Errorf("detach.Process", tool.Conflict, "%s has no process that takes input or signals now",
			c.Tool.ID.Dotted()).WithHint("only a shell command that runs does; see with task_id how the task stands")
	}
	return c.process, nil
}

func (c *Call) hasBegun() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.began.IsZero()
}

// Done is closed when the call has ended. Result returns how.
func (c *Call) Done() <-chan struct{} { return c.done }

// Result returns the result of a call that has ended.
func (c *Call) Result() *tool.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.result
}

// Cancel ends the call.
func (c *Call) Cancel(why error) { c.cancel(why) }

// Ran is how long its handler has run; 0: it has not begun.
func (c *Call) Ran() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began.IsZero() {
		return 0
	}
	return time.Since(c.began)
}

// String names the call for people.
func (c *Call) String() string { return fmt.Sprintf("%s (%s)", c.Tool.ID.Dotted(), c.Call.ID) }
