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

// Guest is the client on whose behalf a request is made.
type Guest = downstream.Guest

const (
	mostRounds = 10 // of questions before an answer
	mostBusy   = 3  // times that a server may put us off
	busyWait   = 200 * time.Millisecond
)

// round is what a request brings: after the first, what the server had asked
// for, and the state that it gave along.
type round struct {
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

// converse makes a request until it is answered. A server that wants to know
// something first is told, all of it at once and under its own keys, and the
// request is made again. Between two rounds it holds no place in the line: a
// human may take their time.
func (s *Server) converse(ctx context.Context, r request, send func(context.Context, *sdk.ClientSession, round) (reply, error)) error {
	g := s.guest(ctx, r.calls())
	var next round
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
			s.noteLack(g, r.call, err)
			return err
		}
		if !got.more {
			return nil
		}
		if len(got.asked) == 0 {
			busy++
		}
		if n >= mostRounds || busy >= mostBusy {
			return tool.Errorf("mcp.call", tool.Failed, "the MCP server %s was asked for %s %d times, and still wants something first", s.cfg.Name, r.name(), n)
		}
		if next, err = s.nextRound(ctx, g, got, time.Duration(busy)*busyWait); err != nil {
			return err
		}
	}
}

// nextRound finds out what a server wants to know. One that wants nothing and
// does not answer either is busy, and asked again after a while.
func (s *Server) nextRound(ctx context.Context, g Guest, got reply, wait time.Duration) (round, error) {
	if len(got.asked) > 0 {
		answers, err := downstream.Ask(ctx, g, s.cfg.Name, got.asked)
		if err != nil {
			return round{}, s.secrets.HideError(err)
		}
		return round{answers: answers, state: got.state}, nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return round{state: got.state}, nil
	case <-ctx.Done():
		return round{}, stopped(ctx, "while the MCP server "+s.cfg.Name+" was busy")
	}
}

// guest is the one client that a request is made for, or nil.
func (s *Server) guest(ctx context.Context, calls []string) Guest {
	if find := s.hub.opt.Guest; find != nil {
		return find(ctx, calls)
	}
	return nil
}

// noteLack tells a guest that a server wants a capability which it has not.
func (s *Server) noteLack(g Guest, call string, err error) {
	var refusal *jsonrpc.Error
	if g != nil && errors.As(err, &refusal) && refusal.Code == sdk.CodeMissingRequiredClientCapabilities {
		g.Lacks(call, refusal)
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
			answer, err := s.asked(ctx, r.Params)
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
	answer, err := s.asked(ctx, r.Params)
	if err != nil {
		return nil, err
	}
	if res, ok := answer.(*sdk.ElicitResult); ok {
		return res, nil
	}
	return &sdk.ElicitResult{Action: "cancel"}, nil
}

// asked puts one question. While it is open, no call of the server runs out of
// time.
func (s *Server) asked(ctx context.Context, p sdk.InputRequest) (sdk.InputResponse, error) {
	const only = "question"
	calls, done := s.desk.ask()
	defer done()
	answers, err := downstream.Ask(ctx, s.guest(ctx, calls), s.cfg.Name, sdk.InputRequestMap{only: p})
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: s.secrets.HideError(err).Error()}
	}
	return answers[only], nil
}

// said takes what a server tells of its work: it is kept, and passed on to the
// one client that has calls under way there.
func (s *Server) said(p *downstream.Log) {
	data, err := json.Marshal(p.Data)
	if err != nil {
		return
	}
	text := s.secrets.Hide(string(data))
	s.log.Add("log", string(p.Level)+": "+plain(text))
	calls := s.desk.under()
	if len(calls) == 0 {
		return
	}
	g := s.guest(context.Background(), calls)
	if g == nil {
		return
	}
	told := &downstream.Log{Level: p.Level, Logger: s.cfg.Name}
	if p.Logger != "" {
		told.Logger += "/" + s.secrets.Hide(tool.Clip(p.Logger))
	}
	if told.Data = json.RawMessage(text); !json.Valid([]byte(text)) {
		told.Data = text
	}
	g.Said(told)
}

// plain is a JSON text without its quotes, when it is one.
func plain(text string) string {
	var s string
	if json.Unmarshal([]byte(text), &s) == nil {
		return s
	}
	return text
}

// Hear has the server tell of its work from a level on, if it did not before:
// the lowest that anybody wanted counts, and each client is passed on what it
// wants itself.
func (s *Server) Hear(ctx context.Context, level LogLevel) {
	s.line.mu.Lock()
	lower := downstream.Lower(s.line.level, level)
	changed := lower != s.line.level
	s.line.level = lower
	l := s.line.link
	s.line.mu.Unlock()
	if changed && l != nil {
		s.tellLevel(ctx, l.session, lower)
	}
}

// tellLevel tells a server of the old handshake from which level on it is to
// tell of its work. One that does not want to is left to its own.
func (s *Server) tellLevel(ctx context.Context, c *sdk.ClientSession, level downstream.Level) {
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
