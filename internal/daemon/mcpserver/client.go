package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/agent/surface"
	"callgate/internal/daemon/mcpserver/calls"
	"callgate/internal/daemon/mcpserver/items"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/internal/source/mcp/downstream"
	"callgate/tool"
)

// client is one client.
type client struct {
	endpoint  *endpoint
	name      string
	key       any             // in the endpoint's table
	use       use             // of a client over HTTP
	id        string          // of its connection, if that has one
	begun     begunCalls      // of its connection over HTTP
	ctx       context.Context // ends when the client leaves
	cancel    context.CancelFunc
	idle      *time.Timer // nil for a connection
	calls     *calls.Calls
	items     *items.Catalog
	artifacts artifacts

	opening sync.Mutex // guards session and tools
	session *session.Session
	tools   *toolList // as the client was first shown them; nil before

	mu       sync.Mutex
	logLevel downstream.Level // the lowest that it wants
}

func newClient(e *endpoint, name string) *client {
	c := &client{endpoint: e, name: name}
	c.ctx, c.cancel = context.WithCancel(e.ctx)
	c.calls = calls.New(c.ctx, calls.Config{
		Kernel: e.kernel, Client: name, Asker: &e.asker,
		Approval: calls.Approval{
			Wait: e.opt.ApprovalWait, NoForms: e.opt.NoElicitation, AutomaticWithin: e.opt.AutoDeclineWithin,
		},
		TaskAfter: e.opt.TaskAfter,
	})
	c.items = &items.Catalog{Log: e.opt.Log, BareNames: e.opt.BareNames}
	return c
}

// maxName bounds a client's name.
const maxName = 64

// clientName is the name that a client gives itself, made printable.
func clientName(info *sdk.Implementation) string {
	if info == nil {
		return "mcp client"
	}
	name := strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(info.Name, ""))
	if name = strings.TrimSpace(tool.TruncateTo(name, maxName)); name == "" {
		return "mcp client"
	}
	return name
}

// touch notes that something was heard of the client, and restarts the time after which an
// idle client without a connection is closed.
func (c *client) touch() {
	c.use.heard()
	if c.idle != nil {
		c.idle.Reset(idleAfter)
	}
}

// leave closes the client because its room is full.
func (c *client) leave() {
	if connection := c.begun.connection; connection != nil {
		_ = connection.Close() // its end removes the client
		return
	}
	c.endpoint.remove(c.key, c)
}

// open returns the client's session. It opens a new one if the kernel has closed
// an idle one.
func (c *client) open(ctx context.Context) (*session.Session, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	return c.openLocked(ctx)
}

// isOpen reports whether the client's session is there, and nobody is about to change it.
func (c *client) isOpen() bool {
	if !c.opening.TryLock() {
		return false
	}
	defer c.opening.Unlock()
	return c.session != nil
}

func (c *client) openLocked(ctx context.Context) (*session.Session, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, tool.Errorf("mcpserver", tool.Unavailable, "this connection is being closed")
	}
	if c.session != nil {
		if _, err := c.endpoint.kernel.Sessions.Get(c.session.ID()); err == nil {
			return c.session, nil
		}
	}
	spec := c.endpoint.opt.Session
	spec.Agent, spec.NoWait = c.name, true
	if key := c.endpoint.opt.Bridge.Key; key != "" {
		spec.ID = key.SessionID() // the same at every kernel: what waits for this client finds it
	}
	spec.Client = &surface.Client{Name: c.name, Builtin: c.endpoint.opt.Builtin}
	s, err := c.endpoint.kernel.OpenSession(ctx, spec)
	if err != nil {
		return nil, err
	}
	c.session = s
	s.OnReload(func() { go c.relist(s) })
	return s, nil
}

// relist shows the client the tools of a session whose app files a person had read again, and tells it if they are
// others. Nothing else changes what a client was shown.
func (c *client) relist(s *session.Session) {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.tools == nil || c.session != s || c.ctx.Err() != nil {
		return
	}
	now, err := c.newToolList(c.ctx, s)
	if err != nil {
		c.endpoint.opt.Log.Warn("the tools of a client cannot be listed again", "client", c.name, "error", err)
		return
	}
	if now.same(c.tools) {
		return
	}
	c.tools = now
	c.endpoint.tellOfTools()
}

// close ends the client's session. When it returns, its calls are cancelled and
// recorded.
func (c *client) close() {
	c.cancel()
	if c.idle != nil {
		c.idle.Stop()
	}
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.session != nil {
		c.session.Close()
	}
}

func (c *client) level() downstream.Level {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.logLevel
}

// setLogLevel has the servers that the client is given send logs from a level on.
func (c *client) setLogLevel(ctx context.Context, level downstream.Level) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.logLevel = level
	c.mu.Unlock()
	c.scope(s).Servers.SetLogLevel(ctx, level, s.Caller().Gives)
	return nil
}

// scope is where the client finds items of MCP servers.
func (c *client) scope(s *session.Session) items.Scope {
	return items.Scope{Session: s, Servers: c.endpoint.kernel.Servers.In(s.Loaded().Scope)}
}

// surface says how the client is shown its tools.
func (c *client) surface() toolview.SurfaceConfig {
	return toolview.SurfaceConfig{
		ForMCP: true, Client: c.name, Mode: c.endpoint.opt.Mode, BareNames: c.endpoint.opt.BareNames,
	}
}

// callKey is equal for equal calls: of one tool, by any of its names, with equal
// arguments, however they are written.
func (c *client) callKey(name string, args json.RawMessage) string {
	if s, err := c.open(c.ctx); err == nil {
		if v, err := s.View().Tool(c.ctx, name); err == nil {
			name = v.ID.String()
		}
	}
	return name + "\x00" + calls.Canonical(args)
}
