package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/stdio"
	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

// handler calls one tool of a server.
type handler struct {
	server   *Server
	upstream string // the server's name for it
	dotted   string
}

// Execute calls the tool at its server.
func (h *handler) Execute(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
	var res *sdk.CallToolResult
	args := call.Args
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	r := request{method: "tools/call", call: call.ID, grant: grant, tool: h.dotted}
	err := h.server.requestRounds(ctx, r, func(ctx context.Context, c *sdk.ClientSession, in inputRound) (reply, error) {
		params := &sdk.CallToolParams{Meta: in.meta, Name: h.upstream, Arguments: args, InputResponses: in.answers, RequestState: in.state}
		params.SetProgressToken(ctx.Value(inFlightKey{}).(*inFlightCall).token)
		var err error
		if res, err = c.CallTool(ctx, params); err != nil {
			return reply{}, err
		}
		return reply{res.NeedsInput(), res.InputRequests, res.RequestState}, nil
	})
	if err != nil {
		return nil, err
	}
	return translate.Result(ctx, h.dotted, res, h.server.hub.opt.StoreArtifact), nil
}

// request is one request to a server, whoever makes it.
type request struct {
	method string
	tool   string // the dotted name of a tool that is called
	call   string // its id, or that of what is read
	grant  tool.Grant
}

// calls are those that it may be asked about.
func (r request) calls() []string {
	if r.call == "" {
		return nil
	}
	return []string{r.call}
}

// name is what is asked for, for the words of an error.
func (r request) name() string { return cmp.Or(r.tool, r.method) }

// inFlightKey finds the flight of a request, for its progress token.
type inFlightKey struct{}

// request sends something to the server, in turn and in time. What was
// certainly not sent, because the connection had ended before, is sent again on
// a new one, once.
func (s *Server) request(ctx context.Context, r request, send func(context.Context, *sdk.ClientSession) error) (err error) {
	if err := s.calls.acquire(ctx, s.cfg.Name, r.grant); err != nil {
		return err
	}
	defer func() {
		s.calls.release(err != nil)
		s.idleAfter()
	}()
	for again := true; ; again = false {
		l, _, err := s.connect(ctx)
		if err != nil {
			return err
		}
		err = s.send(ctx, l, r, send)
		unsent := errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing)
		if err != nil {
			err = s.failed(ctx, l, r.name(), err)
		} else {
			s.conn.breaker.Succeeded()
		}
		s.conn.free(l)
		if !unsent || !again || ctx.Err() != nil {
			return err
		}
	}
}

// send sends a request over a link.
func (s *Server) send(ctx context.Context, l *connection, r request, send func(context.Context, *sdk.ClientSession) error) error {
	ctx, f, cancel := s.calls.begin(ctx, r.call, r.grant)
	defer cancel(nil)
	defer f.end()
	defer context.AfterFunc(l.ctx, func() { s.cancelOnClose(l, cancel) })()
	err := send(context.WithValue(ctx, inFlightKey{}, f), l.session)
	if err != nil && context.Cause(ctx) == errNoAnswer {
		return errNoAnswer
	}
	return err
}

// cancelOnClose ends a request whose link is being closed. One whose session has ended
// was told so by the session, in better words.
func (s *Server) cancelOnClose(l *connection, cancel context.CancelCauseFunc) {
	if why := context.Cause(l.ctx); l.process == nil && why != errEnded {
		cancel(why)
	}
}

// failed turns what went wrong with a request into words, and decides what it
// means for the link: a server that answers, even with an error, is well.
func (s *Server) failed(ctx context.Context, l *connection, name string, err error) error {
	var known *tool.Error
	var answer *jsonrpc.Error
	switch {
	case errors.Is(err, errNoAnswer):
		s.hub.background(func() { s.checkAlive(l) })
		return tool.Errorf("mcp.call", tool.Timeout, "the MCP server %s did not answer %s within %v, and was told to stop", s.cfg.Name, name, s.cfg.CallTimeout).
			WithHint("ask it for less; the server's timeout can be raised")
	case errors.As(err, &known):
		s.conn.retire(l)
		return s.secrets.RedactError(known)
	case ctx.Err() != nil:
		return stopped(ctx, "while the MCP server "+s.cfg.Name+" worked on it")
	case errors.As(err, &answer) && !ours(answer):
		s.conn.breaker.Succeeded()
		return s.refusal(name, answer)
	case errors.Is(err, sdk.ErrConnectionClosed), errors.Is(err, sdk.ErrSessionMissing):
		s.conn.retire(l)
		return tool.Errorf("mcp.call", tool.Unavailable, "the connection to the MCP server %s had ended", s.cfg.Name)
	case !broken(l, err):
		return s.secrets.RedactError(tool.Errorf("mcp.call", tool.Failed, "the MCP server %s answered %s with something that is no answer: %v", s.cfg.Name, name, err).
			WithHint("this is a defect in the server"))
	}
	s.conn.retire(l)
	if context.Cause(l.ctx) == errClosed || s.conn.ctx.Err() != nil {
		return tool.Errorf("mcp.call", tool.Unavailable, "the MCP server %s was stopped during %s", s.cfg.Name, name)
	}
	l.fails.Do(s.conn.breaker.Failed)
	return s.secrets.RedactError(s.connectionError(l, name, err))
}

// checkAlive finds out whether a server that left a call unanswered answers
// anything at all. One that does not is stopped, and the next call starts it
// again.
func (s *Server) checkAlive(l *connection) {
	if !l.examined.CompareAndSwap(false, true) {
		return
	}
	defer l.examined.Store(false)
	ctx, cancel := context.WithTimeout(l.ctx, s.cfg.CallTimeout/2)
	defer cancel()
	var err error
	if l.session.InitializeResult().ProtocolVersion <= legacyProtocol {
		err = l.session.Ping(ctx, nil)
	} else {
		_, err = l.session.ListTools(ctx, nil)
	}
	if err == nil || ctx.Err() == nil || l.ctx.Err() != nil { // any answer will do
		return
	}
	s.note("it answers nothing any more, and is stopped", err)
	l.fails.Do(s.conn.breaker.Failed)
	s.conn.retire(l)
	l.close()
}

// broken reports whether an error means that the link is no more. An answer
// that cannot be read is an error too, but then the link lives on.
func broken(l *connection, err error) bool {
	var e *jsonrpc.Error
	if errors.Is(err, io.EOF) || errors.Is(err, stdio.ErrTooLong) || errors.As(err, &e) && ours(e) || strings.Contains(err.Error(), "terminated without response") {
		return true
	}
	timer := time.NewTimer(100 * time.Millisecond) // word of its end may still be on the way
	defer timer.Stop()
	select {
	case <-l.ctx.Done():
		return true
	case <-timer.C:
		return false
	}
}

// ours reports whether an error was made on our side of the connection: the
// SDK gives its own errors codes too.
func ours(e *jsonrpc.Error) bool {
	const serverClosing, clientClosing, rejected = -32004, -32003, -32005
	return slices.Contains([]int64{serverClosing, clientClosing, rejected}, e.Code)
}

// refusal is a server's own error, in its own words.
func (s *Server) refusal(name string, answer *jsonrpc.Error) error {
	const most = 2 << 10
	said := s.secrets.Redact(tool.TruncateTo(answer.Message, most))
	kind := tool.Failed
	switch answer.Code {
	case jsonrpc.CodeInvalidParams:
		kind = tool.Invalid
	case jsonrpc.CodeMethodNotFound:
		kind = tool.NotFound
	}
	e := tool.Errorf("mcp.call", kind, "the MCP server %s refuses %s: %s", s.cfg.Name, name, said)
	if answer.Code == sdk.CodeMissingRequiredClientCapabilities { // which clients know what to do about
		e.Err = &jsonrpc.Error{Code: answer.Code, Message: said, Data: answer.Data}
	}
	return e
}

// connectionError is the error of a request whose connection broke, with how the
// server ended and its last words.
func (s *Server) connectionError(l *connection, name string, err error) error {
	if l.process == nil {
		return tool.Errorf("mcp.call", tool.Unavailable, "the connection to the MCP server %s broke during %s: %v", s.cfg.Name, name, err).
			WithHint("it may have happened all the same; the next call connects again")
	}
	exit := "its output is closed, and it is being stopped"
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-l.process.Done():
		exit = l.process.Exit()
	case <-timer.C:
	}
	if errors.Is(err, stdio.ErrTooLong) {
		exit = err.Error()
	}
	return tool.Errorf("mcp.call", tool.Unavailable, "the MCP server %s ended during %s: %s%s", s.cfg.Name, name, exit, s.logTail(l.began)).
		WithHint("it may have happened all the same; the next call starts it again")
}
