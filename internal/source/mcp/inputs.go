//lint:file-ignore SA1019 servers still ask for the models of clients

package mcp

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/observe"
	"callgate/internal/source/mcp/config"
	"callgate/internal/source/mcp/dial"
	"callgate/internal/source/mcp/downstream"
	"callgate/internal/source/mcp/requests"
	"callgate/tool"
)

const (
	maxRounds = 10 // of questions before an answer
	maxBusy   = 3  // times that a server may ask to be asked again
	busyWait  = 200 * time.Millisecond
)

// inputs answers what the server wants to know before it answers a request.
//
// # Law
//
// What a server asks reaches the one client whose call it works on, and nobody
// where that is not certain. With the new protocol a question is the answer to
// a request, which is then made again with what the client said; between two
// rounds the request holds no slot, since a human may take their time. With the
// old handshake a question comes in the middle of a call and does not say of
// which: then it goes to the client to whom all calls of that moment belong.
type inputs struct {
	*identity
	sender    *sender
	clientFor func(calls []string) Client
}

// round is what a request carries: after the first round also what the server
// asked for, and the state that it wants back.
type round struct {
	token   string // for progress
	meta    sdk.Meta
	answers sdk.InputResponseMap
	state   string
}

// reply is what the server answered in one round.
type reply struct {
	more  bool // the server wants to know something first
	asked sdk.InputRequestMap
	state string
}

// roundFunc makes one round of a request.
type roundFunc func(context.Context, *dial.Conn, round) (reply, error)

// do makes a request until it is answered.
func (in *inputs) do(ctx context.Context, r request, send roundFunc) (err error) {
	ctx, span := observe.Start(ctx, observe.Client, r.method+" "+in.cfg.Name)
	if span != nil {
		defer func() { in.finish(span, r, err) }()
	}
	var calls []string
	if r.call != "" {
		calls = []string{r.call}
	}
	client := in.clientFor(calls)
	var next round
	busy := 0
	for n := 1; ; n++ {
		var got reply
		err := in.sender.do(ctx, r, func(ctx context.Context, c *dial.Conn, token string) (err error) {
			next.token, next.meta = token, nil
			if c.Session.InitializeResult().ProtocolVersion > config.LegacyProtocol {
				next.meta = downstream.Meta(client)
			}
			next.meta = traced(ctx, next.meta)
			got, err = send(ctx, c, next)
			return err
		})
		if err != nil {
			reportMissingCapability(client, r.call, err)
			return err
		}
		if !got.more {
			return nil
		}
		if len(got.asked) == 0 {
			busy++
		}
		if n >= maxRounds || busy >= maxBusy {
			return tool.Errorf("mcp.call", tool.Failed,
				"the MCP server %s was asked for %s %d times, and still wants something first", in.cfg.Name, r.name(), n)
		}
		if next, err = in.nextRound(ctx, client, got, time.Duration(busy)*busyWait); err != nil {
			return err
		}
	}
}

// traced adds the place in the trace to what a request says beside its arguments, as MCP has it.
func traced(ctx context.Context, meta sdk.Meta) sdk.Meta {
	place := observe.Traceparent(ctx)
	if place == "" {
		return meta
	}
	with := sdk.Meta{"traceparent": place}
	maps.Copy(with, meta)
	return with
}

// finish ends the span of a request.
func (in *inputs) finish(s *observe.Span, r request, err error) {
	s.Set("mcp.method.name", r.method)
	s.Set("gen_ai.tool.name", r.tool)
	s.Set("callgate.server", in.cfg.Name)
	failure := ""
	if err != nil {
		failure = string(tool.KindOf(err))
	}
	s.Set("error.type", failure)
	s.Finish(failure)
}

// nextRound puts the server's questions to the client. A server that neither
// answers nor asks is busy, and is asked again after a wait.
func (in *inputs) nextRound(ctx context.Context, client Client, got reply, wait time.Duration) (round, error) {
	if len(got.asked) > 0 {
		answers, err := downstream.Forward(ctx, client, in.cfg.Name, got.asked)
		if err != nil {
			return round{}, in.secrets.RedactError(err)
		}
		return round{answers: answers, state: got.state}, nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return round{state: got.state}, nil
	case <-ctx.Done():
		return round{}, requests.Interrupted(ctx, "while the MCP server "+in.cfg.Name+" was busy")
	}
}

// reportMissingCapability tells a client that its call failed because the server
// needs a capability which the client does not have.
func reportMissingCapability(client Client, call string, err error) {
	var refusal *jsonrpc.Error
	if client != nil && errors.As(err, &refusal) && refusal.Code == sdk.CodeMissingRequiredClientCapabilities {
		client.MissingCapability(call, refusal)
	}
}

// middleware answers the questions of a server with the old handshake. It takes
// them before the SDK checks them, since the SDK knows fewer kinds of form than
// the protocol.
func (in *inputs) middleware(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch r := req.(type) {
		case *sdk.ElicitRequest:
			if r.Params == nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no question"}
			}
			return in.elicit(ctx, r)
		case *sdk.CreateMessageWithToolsRequest:
			answer, err := in.ask(ctx, r.Params)
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

// elicit asks a human. No answer counts as a cancelled form.
func (in *inputs) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	answer, err := in.ask(ctx, r.Params)
	if err != nil {
		return nil, err
	}
	if res, ok := answer.(*sdk.ElicitResult); ok {
		return res, nil
	}
	return &sdk.ElicitResult{Action: "cancel"}, nil
}

// ask puts one question to the client. While it is open, no request to the
// server times out.
func (in *inputs) ask(ctx context.Context, p sdk.InputRequest) (sdk.InputResponse, error) {
	const key = "question"
	calls, done := in.sender.requests.Ask()
	defer done()
	answers, err := downstream.Forward(ctx, in.clientFor(calls), in.cfg.Name, sdk.InputRequestMap{key: p})
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: in.secrets.RedactError(err).Error()}
	}
	return answers[key], nil
}
