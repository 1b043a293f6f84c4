package mcpserver

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/kernel"
	"callgate/internal/kernel/session"
	"callgate/internal/source/mcp/stdio"
	"callgate/internal/version"
	"callgate/tool"
)

// Options is how a client is served. The zero value but for a workspace works.
type Options struct {
	// Session is where the client works. Its agent is the client's own name.
	Session session.Spec
	Mode    string // direct, compact_direct or discovery; empty: as the app says; with +bare at its end for Bare
	// BareNames has the tools, prompts and resources of MCP servers go by the names
	// and addresses that their servers give them, where only one has it. The
	// others, and every one of them, go by the name with its server's before it.
	BareNames bool
	// ApprovalWait is how long a call that a human must approve is held open for a
	// client that cannot ask its human itself. Default 20 seconds: clients give
	// up on a call after a minute.
	ApprovalWait time.Duration
	// NoElicitation has approvals answered elsewhere, never in a form at the client:
	// for clients of which nobody knows that a human sits at them.
	NoElicitation bool
	// AutoDeclineWithin is how fast a no to an approval is taken for the client's own: no
	// human reads a form in that time, so nobody is there who could be asked.
	// Default a quarter of a second.
	AutoDeclineWithin time.Duration
	Log               *slog.Logger // default: nothing
}

// bareMode ends a mode that also wants bare names.
const bareMode = "+bare"

func (o Options) withDefaults() Options {
	if mode, bare := strings.CutSuffix(o.Mode, bareMode); bare {
		o.Mode, o.BareNames = mode, true
	}
	if o.ApprovalWait == 0 {
		o.ApprovalWait = 20 * time.Second
	}
	if o.AutoDeclineWithin == 0 {
		o.AutoDeclineWithin = 250 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Server serves the clients of one kernel.
type Server struct {
	kernel *kernel.Kernel
}

// New makes the server of a kernel. The questions of the kernel's MCP servers
// reach the clients through its table of clients.
func New(k *kernel.Kernel) *Server { return &Server{kernel: k} }

// Serve serves one client over a stream of JSON texts, one a line, until the
// stream ends or ctx does. The stream is closed, the client's calls are over
// and its session is closed when it returns.
func (s *Server) Serve(ctx context.Context, conn io.ReadWriteCloser, o Options) error {
	h := s.newEndpoint(o, false)
	defer h.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &lineWriter{w: conn}
	wire := stdio.New(stdio.Options{
		In: conn, Out: out,
		OnStray: out.refuse,
		OnClose: func() { go conn.Close() }, // even one that nobody reads any more
	})
	defer context.AfterFunc(ctx, func() {
		h.cancel()
		wire.Close()
	})()
	session, err := h.sdk.Connect(ctx, wire, nil)
	if err != nil {
		wire.Close()
		return &tool.Error{Op: "mcpserver.Serve", Kind: tool.Unavailable, Message: "the client cannot be served", Err: err}
	}
	err = session.Wait()
	if ctx.Err() != nil {
		return nil // it was ended here
	}
	if err != nil {
		return &tool.Error{Op: "mcpserver.Serve", Kind: tool.Cancelled, Message: "the connection to the client broke", Err: err}
	}
	return nil
}

// lineWriter lets a refusal and an answer share a stream, a line at a time.
type lineWriter struct {
	mu sync.Mutex
	w  io.WriteCloser
}

func (l *lineWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(line)
}

// Close closes the stream. It does not wait for a write that hangs.
func (l *lineWriter) Close() error { return l.w.Close() }

// refuse answers a line that is no message; the connection goes on.
func (l *lineWriter) refuse([]byte) {
	_, _ = l.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this line is not a JSON-RPC message"}}` + "\n"))
}

// endpoint has the guests of one place that clients come to: a stream, or a door
// of the HTTP handler.
type endpoint struct {
	*Server
	opt    Options
	shared bool // requests under one name are of one guest
	sdk    *sdk.Server
	ctx    context.Context // ends with the host
	cancel context.CancelFunc

	mu      sync.Mutex
	clients map[any]*client // by connection, or by name
	closing sync.WaitGroup

	subscriptions subscriptions
}

func (s *Server) newEndpoint(o Options, shared bool) *endpoint {
	h := &endpoint{Server: s, opt: o.withDefaults(), shared: shared, clients: map[any]*client{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.sdk = sdk.NewServer(&sdk.Implementation{Name: "callgate", Title: "Callgate", Version: version.Version}, &sdk.ServerOptions{
		Logger:       h.opt.Log,
		Capabilities: capabilities(),
		CompletionHandler: func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
		},
		SubscribeHandler:   h.subscribe,
		UnsubscribeHandler: h.unsubscribe,
		SetCacheable:       func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = private },
	})
	h.sdk.AddReceivingMiddleware(h.middleware)
	h.sdk.AddSendingMiddleware(h.send)
	return h
}

// capabilities are all that is offered. No list of it ever changes by itself.
func capabilities() *sdk.ServerCapabilities {
	return &sdk.ServerCapabilities{
		Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{Subscribe: true}, Prompts: &sdk.PromptCapabilities{},
		Completions: &sdk.CompletionCapabilities{},
		//lint:ignore SA1019 clients of older protocols look for it
		Logging: &sdk.LoggingCapabilities{},
	}
}

// close sends every guest away.
func (h *endpoint) close() {
	h.cancel()
	h.mu.Lock()
	all := h.clients
	h.clients = nil
	h.mu.Unlock()
	for _, g := range all {
		g.close()
	}
	h.closing.Wait()
	h.subscriptions.close()
}

// clientFor returns the guest behind a request, who is new when it has not been
// here before.
func (h *endpoint) clientFor(session *sdk.ServerSession, info *sdk.Implementation) (*client, error) {
	name := clientName(info)
	var key any = session
	if h.shared {
		key = name
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clients == nil {
		return nil, tool.Errorf("mcpserver", tool.Unavailable, "the kernel is closing")
	}
	if g := h.clients[key]; g != nil {
		g.touch()
		return g, nil
	}
	g := newClient(h, name)
	h.clients[key] = g
	leave := func() {
		h.mu.Lock()
		if h.clients[key] == g {
			delete(h.clients, key)
		}
		h.mu.Unlock()
		g.close()
	}
	if h.shared {
		g.idle = time.AfterFunc(idleAfter, leave)
		return g, nil
	}
	g.id = session.ID()
	h.closing.Go(func() {
		_ = session.Wait()
		h.subscriptions.removeSession(session)
		leave()
	})
	return g, nil
}

// idleAfter is how long a guest that is only a name may stay away.
const idleAfter = 30 * time.Minute
