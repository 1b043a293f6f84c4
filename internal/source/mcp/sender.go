package mcp

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/config"
	"callgate/internal/source/mcp/connector"
	"callgate/internal/source/mcp/dial"
	"callgate/internal/source/mcp/remote"
	"callgate/internal/source/mcp/requests"
	"callgate/internal/source/mcp/sdkerror"
	"callgate/internal/source/mcp/stdio"
	"callgate/tool"
)

// sender sends requests to the server, in turn and in time, and says what
// became of those that fail.
//
// # Law
//
// A request that certainly was not sent, because the connection had ended or the
// server no longer has the session, is sent once more on a new connection. A
// request that may have been sent never is: the server may have done what was
// asked. If it was to change something, it is in doubt; if it only reads, the
// server was unavailable or too slow, and nothing was changed.
//
// A server that answers, even with an error, is well. A server that leaves a
// request unanswered is probed, and stopped when it answers nothing.
type sender struct {
	*identity
	requests   *requests.Table
	connector  *connector.Connector[*connection]
	background func(func())
}

// request is one request to the server.
type request struct {
	method string
	tool   string // the dotted name of the tool that is called
	call   string // the ID of the call that it belongs to; empty: none
	// changes says that the server may change something by it.
	changes bool
	grant   tool.Grant
}

// name says in errors what was requested.
func (r request) name() string { return cmp.Or(r.tool, r.method) }

// sendFunc sends one request over a connection. The token names the request in the
// server's progress notifications.
type sendFunc func(ctx context.Context, c *dial.Conn, token string) error

// do makes a request.
func (s *sender) do(ctx context.Context, r request, send sendFunc) (err error) {
	if err := s.requests.Acquire(ctx, r.grant); err != nil {
		return err
	}
	defer func() {
		s.requests.Release(err != nil)
		s.connector.StopWhenIdle()
	}()
	for again := true; ; again = false {
		c, _, err := s.connector.Get(ctx)
		if err != nil {
			return err
		}
		f := s.send(ctx, c, r, send)
		s.connector.Free(c)
		if f.outcome != notSent || !again || ctx.Err() != nil {
			return f.err
		}
	}
}

// send makes a request over one connection.
func (s *sender) send(ctx context.Context, c *connection, r request, send sendFunc) failure {
	sent, clock := s.requests.Begin(ctx, r.call, r.grant)
	defer clock.End()
	defer context.AfterFunc(c.Context(), func() {
		// The SDK ends the requests of a session that has ended, and those of a
		// local server that is closed, with a better error.
		if why := context.Cause(c.Context()); c.Process == nil && why != dial.ErrEnded {
			clock.Cancel(why)
		}
	})()
	err := send(sent, c.Conn, clock.Token)
	if err == nil {
		s.connector.Succeeded()
		return failure{}
	}
	if context.Cause(sent) == requests.ErrNoAnswer {
		err = requests.ErrNoAnswer
	}
	return s.failed(ctx, c, r, err)
}

// outcome is what is known of a request that failed.
type outcome int

const (
	answered   outcome = iota // by the server, or by what stands before it
	notSent                   // it never reached the server
	unanswered                // it was sent, and may have happened all the same
)

// failure is a request that failed. The zero value is one that did not.
type failure struct {
	outcome outcome
	err     error
}

// failed classifies the error of a request, and decides what it means for the
// connection.
func (s *sender) failed(ctx context.Context, c *connection, r request, err error) failure {
	server, name := s.cfg.Name, r.name()
	answer := sdkerror.Answer(err)
	var known *tool.Error
	switch {
	case errors.Is(err, requests.ErrNoAnswer):
		s.background(func() { s.probe(c) })
		return r.unanswered(tool.Errorf("mcp.call", tool.Timeout,
			"the MCP server %s did not answer %s within %v, and was told to stop", server, name, s.cfg.CallTimeout).
			WithHint("ask it for less; the server's timeout can be raised"))
	case errors.As(err, &known):
		s.connector.Retire(c)
		return failure{answered, s.secrets.RedactError(known)}
	case ctx.Err() != nil:
		return r.unanswered(requests.Interrupted(ctx, "while the MCP server "+server+" worked on it"))
	case errors.Is(err, remote.ErrSessionGone), sdkerror.IsNotSent(err):
		s.connector.Retire(c)
		return failure{notSent, tool.Errorf("mcp.call", tool.Unavailable,
			"the connection to the MCP server %s had ended", server)}
	case answer != nil:
		s.connector.Succeeded()
		return failure{answered, s.refusal(name, answer)}
	case !hasEnded(c, err):
		return s.unreadable(r, err)
	}
	return s.broken(c, r, err)
}

// broken is a request whose connection ended before the answer.
func (s *sender) broken(c *connection, r request, err error) failure {
	server, name := s.cfg.Name, r.name()
	s.connector.Retire(c)
	if c.deaf.Load() { // another request ran out of time first
		return r.unanswered(tool.Errorf("mcp.call", tool.Timeout,
			"the MCP server %s did not answer %s nor anything else, and was stopped", server, name).
			WithHint("the next call starts it again"))
	}
	if context.Cause(c.Context()) == dial.ErrClosed || s.connector.Context().Err() != nil {
		return r.unanswered(tool.Errorf("mcp.call", tool.Unavailable,
			"the MCP server %s was stopped during %s", server, name))
	}
	s.connector.Failed(c)
	return r.unanswered(s.secrets.RedactError(s.cutOff(c, name, err)))
}

// minProbe is the least time that a server has to answer a probe, however short its
// calls may be: on a busy machine a slow server is not a deaf one.
const minProbe = 2 * time.Second

// probe finds out whether a server that left a request unanswered answers
// anything at all. If not it is stopped, and the next call starts it again.
func (s *sender) probe(c *connection) {
	if !c.probing.CompareAndSwap(false, true) {
		return
	}
	defer c.probing.Store(false)
	ctx, cancel := context.WithTimeout(c.Context(), max(s.cfg.CallTimeout/2, minProbe))
	defer cancel()
	var err error
	if c.Session.InitializeResult().ProtocolVersion <= config.LegacyProtocol {
		err = c.Session.Ping(ctx, nil)
	} else {
		_, err = c.Session.ListTools(ctx, nil)
	}
	if err == nil || ctx.Err() == nil || c.Context().Err() != nil { // an error is an answer too
		return
	}
	s.warn("it answers nothing any more, and is stopped", err)
	c.deaf.Store(true)
	s.connector.Failed(c)
	s.connector.Retire(c)
	c.Close()
}

// refusal is a server's own error, in its own words.
func (s *sender) refusal(name string, answer *jsonrpc.Error) error {
	const most = 2 << 10
	message := s.secrets.Redact(tool.TruncateTo(answer.Message, most))
	kind := tool.Failed
	switch answer.Code {
	case jsonrpc.CodeInvalidParams:
		kind = tool.Invalid
	case jsonrpc.CodeMethodNotFound:
		kind = tool.NotFound
	}
	e := tool.Errorf("mcp.call", kind, "the MCP server %s refuses %s: %s", s.cfg.Name, name, message)
	if answer.Code == sdk.CodeMissingRequiredClientCapabilities { // the client's front end needs the code
		e.Err = &jsonrpc.Error{Code: answer.Code, Message: message, Data: answer.Data}
	}
	return e
}

// cutOff is the error of a request whose connection broke, with how the server
// ended and the end of its log.
func (s *sender) cutOff(c *connection, name string, err error) error {
	if c.Process == nil {
		return tool.Errorf("mcp.call", tool.Unavailable, "the connection to the MCP server %s broke during %s: %v",
			s.cfg.Name, name, err).WithHint("the next call connects again")
	}
	exit := "its output is closed, and it is being stopped"
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-c.Process.Done():
		exit = c.Process.Exit()
	case <-timer.C:
	}
	if errors.Is(err, stdio.ErrTooLong) {
		exit = err.Error()
	}
	return tool.Errorf("mcp.call", tool.Unavailable, "the MCP server %s ended during %s: %s%s",
		s.cfg.Name, name, exit, s.log.Tail(c.Began, s.secrets.Redact)).
		WithHint("the next call starts it again")
}

// hasEnded reports whether an error means that the connection is over. An answer
// that cannot be read is an error too, but then the connection goes on.
func hasEnded(c *connection, err error) bool {
	if sdkerror.IsBroken(err) || errors.Is(err, stdio.ErrTooLong) {
		return true
	}
	timer := time.NewTimer(100 * time.Millisecond) // the end of a connection may be noticed after that of the request
	defer timer.Stop()
	select {
	case <-c.Context().Done():
		return true
	case <-timer.C:
		return false
	}
}
