package mcpserver

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"callgate/internal/agent/surface"
	"callgate/internal/daemon/mcpserver/requestbody"
	"callgate/internal/kernel"
	"callgate/internal/kernel/session"
	"callgate/internal/memtrim"
	"callgate/internal/observe"
	"callgate/internal/source/mcp/stdio"
	"callgate/tool"
)

// Options configures how a client is served. The zero value with a workspace
// works.
type Options struct {
	// Session says where the client works. Its agent is the client's own name.
	Session session.Spec
	// Mode is direct, compact_direct or discovery; empty: as the app says. With
	// +bare at its end it also sets BareNames.
	Mode string
	// BareNames has the tools, prompts and resources of MCP servers go by the names
	// and addresses that their servers give them, where only one server has it. The
	// others go by the full name, with the server's name before it; a full name is
	// always understood.
	BareNames bool
	// Builtin is which of the shipped modules the client is given; zero: as the app
	// says.
	Builtin surface.Builtin
	// ApprovalWait is how long a call that a human must approve is held open for a
	// client that cannot ask its human itself. Default 20 seconds: clients give
	// up on a call after a minute.
	ApprovalWait time.Duration
	// NoElicitation has approvals answered elsewhere, never in a form at the client:
	// for clients that may have no human.
	NoElicitation bool
	// AutoDeclineWithin is the time in which a refusal of an approval counts as
	// automatic: no human reads a form that fast, so there is no human at the
	// client. Default a quarter of a second.
	AutoDeclineWithin time.Duration
	// TaskAfter is how long a call may take before it becomes a task, for a client that
	// declares the Tasks extension. Default 5 seconds.
	TaskAfter time.Duration
	// Bridge is how a bridge numbers the calls of the client; zero: it does not.
	Bridge Bridge
	Log    *slog.Logger // default: nothing

	recorder observe.Recorder // of spans; nil: there are none. The contexts of requests do not have it
}

// bareMode ends a mode that also sets BareNames.
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
	if o.TaskAfter == 0 {
		o.TaskAfter = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Server serves the clients of one kernel. Close it before the kernel.
type Server struct {
	kernel *kernel.Kernel

	mu       sync.Mutex
	handlers map[*handler]bool // nil when closed
	bridges  bridges
	large    memtrim.Large
}

// New makes the server of a kernel. The questions of the kernel's MCP servers
// reach the clients through its table of clients.
func New(k *kernel.Kernel) *Server {
	s := &Server{kernel: k, handlers: map[*handler]bool{}}
	k.Tokens.OnRevoke(s.endToken)
	return s
}

// Close closes the sessions of the clients over HTTP. Serve closes those of the
// clients on streams before it returns.
func (s *Server) Close() {
	s.mu.Lock()
	open := s.handlers
	s.handlers = nil
	s.mu.Unlock()
	for h := range open {
		h.close()
	}
}

// Serve serves one client over a stream of JSON texts, one per line, until the
// stream or ctx ends. When it returns, the stream and the client's session are
// closed, and its calls have ended.
func (s *Server) Serve(ctx context.Context, conn io.ReadWriteCloser, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The client's session has one ID at all connections of its bridge, and a call that
	// still runs for an earlier one must have ended before it is looked up.
	leave, err := s.bridges.enter(ctx, o.Bridge.Key)
	if err != nil {
		_ = conn.Close()
		return err
	}
	defer leave()
	o.recorder = observe.From(ctx)
	e := s.newEndpoint(o, false)
	defer e.close()
	var transport *stdio.Conn
	made := make(chan struct{})
	plain, connected := e.plainCalls(ctx)
	e.plain = plain
	transport = stdio.New(stdio.Options{
		In: conn, Out: conn, Requests: plain,
		OnStray: func(line []byte) {
			<-made
			requestbody.RefuseLine(transport, line)
		},
		OnClose: func() {
			plain.End(io.EOF)
			go conn.Close() // closing may block if the client does not read
		},
	})
	close(made)
	plain.Over(transport.Send)
	defer plain.Wait() // before the client's session is closed
	defer context.AfterFunc(ctx, func() {
		e.cancel()
		transport.Close()
	})()
	session, err := e.sdk.Connect(ctx, transport, nil)
	if err != nil {
		transport.Close()
		return &tool.Error{
			Op: "mcpserver.Serve", Kind: tool.Unavailable, Message: "the client cannot be served", Err: err,
		}
	}
	connected(session)
	err = session.Wait()
	plain.End(io.EOF)
	if ctx.Err() != nil {
		return nil // it was ended here
	}
	if err != nil {
		return &tool.Error{
			Op: "mcpserver.Serve", Kind: tool.Cancelled, Message: "the connection to the client broke", Err: err,
		}
	}
	return nil
}
