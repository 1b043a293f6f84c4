//lint:file-ignore SA1019 servers want models and an ear for logs all the same

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/downstream"
	"callgate/tool"
)

// LogLevel is how much a server tells of its work.
type LogLevel = downstream.Level

// Client is the client on whose behalf a request is made.
type Client = downstream.Client

const (
	maxRounds = 10 // of questions before an answer
	maxBusy   = 3  // times that a server may put us off
	busyWait  = 200 * time.Millisecond
)

// inputRound is what a request brings: after the first, what the server had asked
// for, and the state that it gave along.
type inputRound struct {
	answers sdk.InputResponseMap
	state   string
	meta    sdk.Meta
}

// reply is what came of a round.
type reply struct {
	more  bool // the server wants to know something first
	asked sdk.InputRequestMap
	state string
}

// requestRounds makes a request until it is answered. A server that wants to know
// something first is told, all of it at once and under its own keys, and the
// request is made again. Between two rounds it holds no place in the line: a
// human may take their time.
func (s *Server) requestRounds(ctx context.Context, r request, send func(context.Context, *sdk.ClientSession, inputRound) (reply, error)) error {
	g := s.clientFor(ctx, r.calls())
	var next inputRound
	busy := 0
	for n := 1; ; n++ {
		var got reply
		err := s.request(ctx, r, func(ctx context.Context, c *sdk.ClientSession) (err error) {
			next.meta = nil
			if c.InitializeResult().ProtocolVersion > legacyProtocol {
				next.meta = downstream.Meta(g)
			}
			got, err = send(ctx, c, next)
			return err
		})
		if err != nil {
			s.reportMissingCapability(g, r.call, err)
			return err
		}
		if !got.more {
			return nil
		}
		if len(got.asked) == 0 {
			busy++
		}
		if n >= maxRounds || busy >= maxBusy {
			return tool.Errorf("mcp.call", tool.Failed, "the MCP server %s was asked for %s %d times, and still wants something first", s.cfg.Name, r.name(), n)
		}
		if next, err = s.nextRound(ctx, g, got, time.Duration(busy)*busyWait); err != nil {
			return err
		}
	}
}

// nextRound finds out what a server wants to know. One that wants nothing and
// does not answer either is busy, and asked again after a while.
func (s *Server) nextRound(ctx context.Context, g Client, got reply, wait time.Duration) (inputRound, error) {
	if len(got.asked) > 0 {
		answers, err := downstream.Forward(ctx, g, s.cfg.Name, got.asked)
		if err != nil {
			return inputRound{}, s.secrets.RedactError(err)
		}
		return inputRound{answers: answers, state: got.state}, nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return inputRound{state: got.state}, nil
	case <-ctx.Done():
		return inputRound{}, stopped(ctx, "while the MCP server "+s.cfg.Name+" was busy")
	}
}

// clientFor is the one client that a request is made for, or nil.
func (s *Server) clientFor(ctx context.Context, calls []string) Client {
	if find := s.hub.opt.ClientFor; find != nil {
		return find(ctx, calls)
	}
	return nil
}

// reportMissingCapability tells a guest that a server wants a capability which it has not.
func (s *Server) reportMissingCapability(g Client, call string, err error) {
	var refusal *jsonrpc.Error
	if g != nil && errors.As(err, &refusal) && refusal.Code == sdk.CodeMissingRequiredClientCapabilities {
		g.MissingCapability(call, refusal)
	}
}

// receive answers what a server with the old handshake asks in the middle of a
// call. Its questions do not say of which, so they are of the one client that
// has calls under way there, or nobody's. They are taken here, before the SDK
// would look at them: it knows fewer kinds of form than the protocol.
func (s *Server) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch r := req.(type) {
		case *sdk.ElicitRequest:
			if r.Params == nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no question"}
			}
			return s.elicit(ctx, r)
		case *sdk.CreateMessageWithToolsRequest:
			answer, err := s.forwardInput(ctx, r.Params)
			if err != nil {
				return nil, err
			}
			res, ok := answer.(*sdk.CreateMessageWithToolsResult)
			if !ok {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client's model said nothing"}
			}
			return res, nil
		}
		return next(ctx, method, req)
	}
}

// elicit asks a human. No answer is taken for a no.
func (s *Server) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	answer, err := s.forwardInput(ctx, r.Params)
	if err != nil {
		return nil, err
	}
	if res, ok := answer.(*sdk.ElicitResult); ok {
		return res, nil
	}
	return &sdk.ElicitResult{Action: "cancel"}, nil
}

// forwardInput puts one question. While it is open, no call of the server runs out of
// time.
func (s *Server) forwardInput(ctx context.Context, p sdk.InputRequest) (sdk.InputResponse, error) {
	const only = "question"
	calls, done := s.calls.ask()
	defer done()
	answers, err := downstream.Forward(ctx, s.clientFor(ctx, calls), s.cfg.Name, sdk.InputRequestMap{only: p})
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: s.secrets.RedactError(err).Error()}
	}
	return answers[only], nil
}

// onLog takes what a server tells of its work: it is kept, and passed on to the
// one client that has calls under way there.
func (s *Server) onLog(p *downstream.Log) {
	data, err := json.Marshal(p.Data)
	if err != nil {
		return
	}
	text := s.secrets.Redact(string(data))
	s.log.Add("log", string(p.Level)+": "+plain(text))
	calls := s.calls.running()
	if len(calls) == 0 {
		return
	}
	g := s.clientFor(context.Background(), calls)
	if g == nil {
		return
	}
	told := &downstream.Log{Level: p.Level, Logger: s.cfg.Name}
	if p.Logger != "" {
		told.Logger += "/" + s.secrets.Redact(tool.Truncate(p.Logger))
	}
	if told.Data = json.RawMessage(text); !json.Valid([]byte(text)) {
		told.Data = text
	}
	g.Log(told)
}

// plain is a JSON text without its quotes, when it is one.
func plain(text string) string {
	var s string
	if json.Unmarshal([]byte(text), &s) == nil {
		return s
	}
	return text
}

// SetLogLevel has the server tell of its work from a level on, if it did not before:
// the lowest that anybody wanted counts, and each client is passed on what it
// wants itself.
func (s *Server) SetLogLevel(ctx context.Context, level LogLevel) {
	s.conn.mu.Lock()
	lower := downstream.MinLevel(s.conn.logLevel, level)
	changed := lower != s.conn.logLevel
	s.conn.logLevel = lower
	l := s.conn.current
	s.conn.mu.Unlock()
	if changed && l != nil {
		s.sendLogLevel(ctx, l.session, lower)
	}
}

// sendLogLevel tells a server of the old handshake from which level on it is to
// tell of its work. One that does not want to is left to its own.
func (s *Server) sendLogLevel(ctx context.Context, c *sdk.ClientSession, level downstream.Level) {
	about := c.InitializeResult()
	if level == "" || about.ProtocolVersion > legacyProtocol || about.Capabilities == nil || about.Capabilities.Logging == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	if err := c.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: level}); err != nil {
		s.note("it does not take a level for its logs", err)
	}
}
