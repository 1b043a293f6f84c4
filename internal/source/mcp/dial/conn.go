package dial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/config"
	"callgate/internal/source/mcp/process"
	"callgate/internal/source/mcp/stdio"
	"callgate/tool"
)

// The reasons for which the context of a connection ends.
var (
	ErrClosed = errors.New("it was stopped")
	ErrEnded  = errors.New("it has ended")

	errSlow = errors.New("it did not start in time")
)

// BusyFor is how long a connection counts as busy after its last request.
const BusyFor = 100 * time.Millisecond

// Conn is one connection to a server, from the handshake to its end. Its fields
// are set when Opened is closed.
type Conn struct {
	Session *sdk.ClientSession
	Process *process.Process // of a local server
	Began   time.Time
	Legacy  time.Time // when the server failed at the new handshake, as far as that is known

	ctx    context.Context
	cancel context.CancelCauseFunc
	shut   func()      // closes the transport at once
	pipe   *stdio.Conn // to a local server
	own    sdk.Meta    // what each request says of us; nil: the handshake said it
	opened chan struct{}
	done   chan struct{}
}

// Context ends with the connection; its cause is ErrClosed or ErrEnded.
func (c *Conn) Context() context.Context { return c.ctx }

// Opened is closed when the connection can be used.
func (c *Conn) Opened() <-chan struct{} { return c.opened }

// Done is closed when the connection and its process are gone.
func (c *Conn) Done() <-chan struct{} { return c.done }

// CallTool calls a tool of the server. A plain call of a local server does without the SDK, which decodes each message
// several times. It adds to the call's metadata.
func (c *Conn) CallTool(ctx context.Context, p *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	if c.pipe != nil && (c.own == nil || p.Meta[sdk.MetaKeyClientCapabilities] != nil) {
		maps.Copy(p.Meta, c.own)
		if res, ok, err := c.pipe.CallTool(ctx, p); ok {
			return res, err
		}
	}
	return c.Session.CallTool(ctx, p)
}

// Close ends the connection. It does not wait.
func (c *Conn) Close() {
	c.cancel(ErrClosed)
	c.shut()
}

// connect opens a connection over a transport, within the start timeout.
func (d *Dialer) connect(
	ctx context.Context, h Hooks, t sdk.Transport, version string, proc *process.Process,
) (*Conn, error) {
	shut := func() {}
	pipe, ok := t.(*stdio.Conn)
	if ok {
		shut = func() { pipe.Close() }
	}
	c := &Conn{
		Process: proc, Began: time.Now(), pipe: pipe,
		shut: shut, opened: make(chan struct{}), done: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	slow := time.AfterFunc(d.Config.StartTimeout, func() {
		c.cancel(errSlow)
		shut()
	})
	err := d.setUp(c, h, t, version)
	if !slow.Stop() && err == nil {
		err = errSlow
	}
	if err != nil {
		if context.Cause(c.ctx) == errSlow {
			err = errSlow
		}
		c.Close()
		return nil, d.connectError(err, proc)
	}
	close(c.opened)
	d.open.Go(func() { d.watch(c, h.Ended) })
	return c, nil
}

// setUp does the handshake and what its user wants done first.
func (d *Dialer) setUp(c *Conn, h Hooks, t sdk.Transport, version string) (err error) {
	if c.Session, err = d.handshake(c, h.Client(c), t, version); err != nil {
		return err
	}
	if c.Process == nil {
		c.shut = func() { d.open.Go(func() { closeSession(c.Session, h.Busy) }) }
	}
	got := c.Session.InitializeResult().ProtocolVersion
	if got > config.LegacyProtocol {
		c.own = sdk.Meta{sdk.MetaKeyProtocolVersion: got}
		if h.Self != nil {
			c.own[sdk.MetaKeyClientInfo] = h.Self
		}
	}
	if d.Config.Protocol != "" && got != d.Config.Protocol {
		return tool.Errorf("mcp.connect", tool.Unavailable,
			"the MCP server %s speaks the protocol %s, and the app file says %s",
			d.Config.Name, got, d.Config.Protocol).WithHint("write protocol: %q, or leave it out", got)
	}
	return h.SetUp(c.ctx, c)
}

// handshake returns when the handshake is done or the connection's context ends.
// The SDK may return later than that: then its session is closed.
func (d *Dialer) handshake(c *Conn, client *sdk.Client, t sdk.Transport, version string) (*sdk.ClientSession, error) {
	type outcome struct {
		session *sdk.ClientSession
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		session, err := client.Connect(c.ctx, t, &sdk.ClientSessionOptions{ProtocolVersion: version})
		done <- outcome{session, err}
	}()
	select {
	case o := <-done:
		return o.session, o.err
	case <-c.ctx.Done():
		d.open.Go(func() {
			if o := <-done; o.err == nil {
				o.session.Close()
			}
		})
		return nil, context.Cause(c.ctx)
	}
}

// closeSession ends a session with a remote server. Requests that end with it
// are cancelled at the server first, for which the SDK needs the session a
// moment longer.
func closeSession(session *sdk.ClientSession, busy func() bool) {
	if busy() {
		time.Sleep(BusyFor)
	}
	session.Close()
}

// watch waits for the end of a connection, and clears up after it.
func (d *Dialer) watch(c *Conn, ended func(*Conn, error)) {
	err := c.Session.Wait()
	c.cancel(ErrEnded)
	c.Session.Close() // stops what the session still runs
	if c.Process != nil {
		c.Process.Stop(d.Grace)
		err = fmt.Errorf("it ended: %s", c.Process.Exit())
	}
	if context.Cause(c.ctx) == ErrEnded {
		ended(c, tool.Errorf("mcp.connect", tool.Unavailable, "the MCP server %s has ended: %v", d.Config.Name, err))
	} else {
		ended(c, nil)
	}
	close(c.done)
}

// connectError is the error of a connection that could not be opened. For a
// local server it is the bare reason: startError says it in full.
func (d *Dialer) connectError(err error, proc *process.Process) error {
	var known *tool.Error
	switch {
	case err == errSlow && proc == nil:
		return tool.Errorf("mcp.connect", tool.Unavailable, "the MCP server %s did not answer within %v",
			d.Config.Name, d.Config.StartTimeout).
			WithHint("see whether it runs; if it is only slow, raise its start_timeout")
	case errors.As(err, &known):
		return known
	case proc != nil && (errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed)):
		return ErrEnded
	case proc != nil:
		return err
	default:
		return tool.Errorf("mcp.connect", tool.Unavailable, "the MCP server %s cannot be used: %v", d.Config.Name, err)
	}
}
