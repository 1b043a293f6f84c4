//lint:file-ignore SA1019 servers want models and an ear for logs all the same

package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/downstream"
	"callgate/internal/source/mcp/process"
	"callgate/internal/source/mcp/remote"
	"callgate/internal/source/mcp/serverlog"
	"callgate/internal/source/mcp/stdio"
	"callgate/internal/source/mcp/toolcache"
	"callgate/tool"
)

const (
	// legacyProtocol is the newest version with the old handshake.
	legacyProtocol = "2025-11-25"
	// patience is the part of the start timeout for which the new handshake may
	// go unanswered over a pipe.
	patience = 6
)

// connection is one connection to a server, from the handshake to its end.
type connection struct {
	session  *sdk.ClientSession
	process  *process.Process // of a local server
	shut     func()           // closes the connection at once
	began    time.Time
	manifest *toolcache.Listing // what it brought when it was made

	ctx    context.Context // ends with the link
	cancel context.CancelCauseFunc
	opened chan struct{} // closed when what stands above is set
	done   chan struct{} // closed when everything of it is gone

	stale    atomic.Int32 // words that its tools have changed, not yet followed
	examined atomic.Bool  // somebody finds out whether it still answers
	fails    sync.Once    // its end counts as one failure, however many calls it takes along

	uses    int // guarded by the line
	retired bool
}

// close ends the link: it does not wait.
func (l *connection) close() {
	l.cancel(errClosed)
	l.shut()
}

// The reasons for which a link ends.
var (
	errClosed = errors.New("it was stopped")
	errSlow   = errors.New("it did not come up in time")
	errEnded  = errors.New("it has ended")
)

// launchPlan is a config whose secrets are resolved.
type launchPlan struct {
	command process.Command
	url     *url.URL
	headers map[string]string
}

// prepare resolves the secrets of a config.
func (s *Server) prepare(cfg Config) (p launchPlan, err error) {
	fail := func(err error) (launchPlan, error) {
		e := tool.Errorf("mcp.connect", tool.KindOf(err), "the MCP server %s cannot be started: %v", cfg.Name, err)
		return launchPlan{}, s.secrets.RedactError(e)
	}
	if cfg.URL != "" {
		text, err := s.secrets.Resolve(cfg.URL)
		if err != nil {
			return fail(err)
		}
		if p.url, err = parseURL(text); err != nil {
			return fail(err)
		}
		if p.headers, err = s.secrets.ResolveMap(cfg.Headers); err != nil {
			return fail(err)
		}
		return p, nil
	}
	c := process.Command{Dir: cfg.Dir, Watch: s.hub.watch}
	if c.Path, err = s.secrets.Resolve(cfg.Command); err != nil {
		return fail(err)
	}
	if c.Args, err = s.secrets.ResolveAll(cfg.Args); err != nil {
		return fail(err)
	}
	env, err := s.secrets.ResolveMap(cfg.Env)
	if err != nil {
		return fail(err)
	}
	c.Env = process.Environ(env, cfg.EnvAllow)
	return launchPlan{command: c}, nil
}

// dial connects by whatever transport the config names, or the first that
// works.
func (s *Server) dial(ctx context.Context, p launchPlan) (*connection, error) {
	if p.url == nil {
		return s.dialStdio(ctx, p)
	}
	t := &remote.Transport{Config: remote.Config{Server: s.cfg.Name, URL: p.url, Headers: p.headers, Login: s.account, Base: s.hub.dialer}}
	client := t.Client()
	overSSE := func() (*connection, error) {
		return s.open(ctx, &sdk.SSEClientTransport{Endpoint: p.url.String(), HTTPClient: client, MaxEventSize: remote.MaxBody}, cmp.Or(s.cfg.Protocol, legacyProtocol), nil)
	}
	if s.cfg.Transport == SSE {
		return overSSE()
	}
	l, err := s.open(ctx, &sdk.StreamableClientTransport{Endpoint: p.url.String(), HTTPClient: client, MaxEventSize: remote.MaxBody}, s.cfg.Protocol, nil)
	if err == nil || s.cfg.Transport == HTTP || s.cfg.Protocol > legacyProtocol || !oldServer(t.LastPostStatus()) {
		return l, err
	}
	old, err2 := overSSE()
	if err2 != nil {
		return nil, err // the first failure says more
	}
	return old, nil
}

// oldServer reports whether the answer to a POST is that of a server which
// knows only the transport of 2024.
func oldServer(status int) bool {
	return 400 <= status && status < 500 && status != 401 && status != 403 && status != 408 && status != 429
}

// dialStdio starts the command. There are servers that end when they are
// greeted in the new way: those are started once more and greeted in the old.
func (s *Server) dialStdio(ctx context.Context, p launchPlan) (*connection, error) {
	if s.cfg.Protocol != "" {
		l, _, err := s.launch(ctx, p, s.cfg.Protocol)
		return l, err
	}
	version := ""
	since, lately := s.known().HandshakeFailed()
	if lately {
		version = legacyProtocol
	}
	l, conn, err := s.launch(ctx, p, version)
	if err != nil && version == "" && conn != nil && !conn.HasReceived() && !errors.Is(err, errSlow) && ctx.Err() == nil {
		first := err
		version, since = legacyProtocol, time.Now().UTC()
		if l, conn, err = s.launch(ctx, p, version); err != nil {
			return nil, first
		}
	}
	if err != nil {
		return nil, err
	}
	if conn.HandshakeUnanswered() {
		since = time.Now().UTC()
	}
	if version != "" || conn.HandshakeUnanswered() {
		l.manifest.Legacy = since
	}
	return l, nil
}

// launch starts the command and opens a session over its pipes. The connection
// is returned with a failure too, to be asked what was heard on it.
func (s *Server) launch(ctx context.Context, p launchPlan, version string) (*connection, *stdio.Conn, error) {
	log := &serverlog.Writer{Book: s.log, Stream: "stderr"}
	began := time.Now()
	strays := s.log.StrayLines()
	p.command.Log = log
	proc, err := process.Start(p.command)
	if err != nil {
		var e *tool.Error
		errors.As(err, &e)
		e.Message = "the MCP server " + s.cfg.Name + " cannot be started: " + e.Message
		return nil, nil, e
	}
	conn := stdio.New(stdio.Options{
		In: proc.Out, Out: proc.In,
		OnStray:          func(line []byte) { s.log.Add("stdout", string(line)) },
		OnMessage:        s.onProgress,
		HandshakeTimeout: s.cfg.StartTimeout / patience,
		OnClose:          func() { go proc.Stop(s.hub.opt.Grace) },
	})
	l, err := s.open(ctx, conn, version, proc)
	if err != nil {
		conn.Close()
		<-proc.Done()
		return nil, conn, s.unstarted(err, proc, began, s.log.StrayLines()-strays)
	}
	return l, conn, nil
}

// unstarted says why a local server did not come up.
func (s *Server) unstarted(err error, proc *process.Process, began time.Time, strays int) error {
	e := &tool.Error{Op: "mcp.connect", Kind: tool.Unavailable}
	var known *tool.Error
	switch {
	case errors.Is(err, errSlow):
		e.Err = errSlow
		e.Message = fmt.Sprintf("the MCP server %s did not answer within %v of being started", s.cfg.Name, s.cfg.StartTimeout)
		e.Hint = "if it is only slow, raise its start_timeout"
	case errors.Is(err, errEnded):
		e.Message = fmt.Sprintf("the MCP server %s ended while it was being started: %s", s.cfg.Name, proc.Exit())
		e.Hint = "try its command in a terminal"
	case errors.As(err, &known):
		e.Kind, e.Message, e.Hint = known.Kind, known.Message, known.Hint
	default:
		e.Message = fmt.Sprintf("the MCP server %s cannot be used: %v", s.cfg.Name, err)
	}
	if strays > 0 {
		e.Message += fmt.Sprintf("; it printed %d lines to stdout that are not MCP messages", strays)
	}
	e.Message += s.logTail(began)
	return e
}

// open makes a session over a transport and fetches what the server has. It
// takes no longer than a start may; the session then lasts until its link ends.
func (s *Server) open(ctx context.Context, t sdk.Transport, version string, proc *process.Process) (*connection, error) {
	l := &connection{process: proc, began: time.Now(), opened: make(chan struct{}), done: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	shut := func() {}
	if conn, ok := t.(*stdio.Conn); ok {
		shut = func() { conn.Close() }
	}
	slow := time.AfterFunc(s.cfg.StartTimeout, func() {
		l.cancel(errSlow)
		shut()
	})
	fail := func(err error) (*connection, error) {
		slow.Stop()
		cause := context.Cause(l.ctx)
		l.cancel(errClosed)
		shut()
		if cause == errSlow {
			return nil, s.slow(proc)
		}
		return nil, s.refused(err, proc)
	}
	session, err := s.handshake(l, t, version)
	if err != nil {
		return fail(err)
	}
	l.session = session
	l.shut = shut
	if proc == nil {
		l.shut = func() { go s.closeSession(session) }
	}
	if got := session.InitializeResult().ProtocolVersion; s.cfg.Protocol != "" && got != s.cfg.Protocol {
		l.shut()
		return fail(tool.Errorf("mcp.connect", tool.Unavailable, "the MCP server %s speaks the protocol %s, and the app file says %s", s.cfg.Name, got, s.cfg.Protocol).
			WithHint("write protocol: %q, or leave it out", got))
	}
	s.conn.mu.Lock()
	level := s.conn.logLevel
	s.conn.mu.Unlock()
	s.sendLogLevel(l.ctx, session, level)
	if l.manifest, err = s.list(l.ctx, session); err != nil {
		l.shut()
		return fail(err)
	}
	if !slow.Stop() {
		l.shut()
		return fail(errSlow)
	}
	close(l.opened)
	s.conn.links.Add(1)
	go s.watchConnection(l)
	return l, nil
}

// closeSession ends a session with a remote server. Calls that are cut off are
// cancelled there first, for which the SDK needs the session a moment longer.
func (s *Server) closeSession(session *sdk.ClientSession) {
	const moment = 100 * time.Millisecond
	if !s.calls.idleFor(moment) {
		time.Sleep(moment)
	}
	session.Close()
}

// handshake does the handshake. The SDK may take its time to notice that its time
// is up; then it is left to that, and whatever comes of it is closed.
func (s *Server) handshake(l *connection, t sdk.Transport, version string) (*sdk.ClientSession, error) {
	type outcome struct {
		session *sdk.ClientSession
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		session, err := s.client(l).Connect(l.ctx, t, &sdk.ClientSessionOptions{ProtocolVersion: version})
		done <- outcome{session, err}
	}()
	select {
	case o := <-done:
		return o.session, o.err
	case <-l.ctx.Done():
		s.conn.links.Go(func() {
			if o := <-done; o.err == nil {
				o.session.Close()
			}
		})
		return nil, context.Cause(l.ctx)
	}
}

// slow is the error of a start that took too long.
func (s *Server) slow(proc *process.Process) error {
	if proc != nil {
		return errSlow // told in full by whoever started it
	}
	return tool.Errorf("mcp.connect", tool.Unavailable, "the MCP server %s did not answer within %v", s.cfg.Name, s.cfg.StartTimeout).
		WithHint("see whether it runs; if it is only slow, raise its start_timeout")
}

// refused is the error of a handshake that failed.
func (s *Server) refused(err error, proc *process.Process) error {
	var known *tool.Error
	switch {
	case errors.As(err, &known):
		return known
	case proc != nil && (errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed)):
		return errEnded
	case proc != nil:
		return err
	default:
		return tool.Errorf("mcp.connect", tool.Unavailable, "the MCP server %s cannot be used: %v", s.cfg.Name, err)
	}
}

// watchConnection waits for the end of a link and clears up.
func (s *Server) watchConnection(l *connection) {
	defer s.conn.links.Done()
	err := l.session.Wait()
	l.cancel(errEnded)
	l.session.Close() // there is nothing left to close but what it keeps running
	if l.process != nil {
		l.process.Stop(s.hub.opt.Grace)
		err = fmt.Errorf("it ended: %s", l.process.Exit())
	}
	if context.Cause(l.ctx) == errEnded {
		s.conn.lost(l, tool.Errorf("mcp.connect", tool.Unavailable, "the MCP server %s has ended: %v", s.cfg.Name, err))
	} else {
		s.conn.lost(l, nil)
	}
	close(l.done)
}

// client is the protocol's end of a link.
func (s *Server) client(l *connection) *sdk.Client {
	version := s.hub.opt.Version
	if version == "" {
		version = "0"
	}
	c := sdk.NewClient(&sdk.Implementation{Name: "callgate", Title: "Callgate", Version: version}, &sdk.ClientOptions{
		Logger: slog.New(slog.NewTextHandler(&serverlog.Writer{Book: s.log, Stream: "client"}, nil)),
		// What some client can do, and those who come later may: a server of the
		// old handshake is told once, for all of them. No roots, which such servers
		// would take for what they may touch.
		Capabilities:       &sdk.ClientCapabilities{Sampling: &sdk.SamplingCapabilities{}},
		ElicitationHandler: s.elicit,
		MultiRoundTrip:     &sdk.MultiRoundTripOptions{Disabled: true}, // see converse
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			s.hub.background(func() { s.onListChanged(l) })
		},
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			s.watches.Notify(r.Params.URI)
		},
		LoggingMessageHandler:       func(_ context.Context, r *sdk.LoggingMessageRequest) { s.onLog(r.Params) },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { s.calls.progress(r.Params) },
	})
	c.AddReceivingMiddleware(s.receive)
	return c
}

// onProgress takes what a local server tells of a call, in the order in which it comes
// and before the answer that follows; the SDK would let an answer overtake it.
// It reports whether that was it.
func (s *Server) onProgress(r *jsonrpc.Request) bool {
	switch r.Method {
	case "notifications/message":
		var p downstream.Log
		if json.Unmarshal(r.Params, &p) == nil {
			s.onLog(&p)
		}
	case "notifications/progress":
		var p sdk.ProgressNotificationParams
		if json.Unmarshal(r.Params, &p) == nil {
			s.calls.progress(&p)
		}
	default:
		return false
	}
	return true
}
