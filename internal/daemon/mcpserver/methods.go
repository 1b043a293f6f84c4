package mcpserver

import (
	"context"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/calls"
	"callgate/internal/daemon/mcpserver/direct"
	"callgate/internal/daemon/mcpserver/mcpresult"
)

// private is the cache scope of every answer: it was made for one client.
const private = "private"

// setLevelRequest sets the log level of a client.
//
//lint:ignore SA1019 clients of older protocols send it
type setLevelRequest = sdk.ServerRequest[*sdk.SetLoggingLevelParams]

// middleware answers the methods that the kernel implements. The SDK answers the
// others.
func (e *endpoint) middleware(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		forward := func() (sdk.Result, error) { return next(ctx, method, req) }
		switch r := req.(type) {
		case *sdk.ServerRequest[*sdk.InitializeParams]:
			return e.initialize(ctx, r.Session, r.Params.ClientInfo, forward)
		case *sdk.ServerRequest[*sdk.DiscoverParams]:
			return e.initialize(ctx, r.Session, r.ClientInfo(), forward)
		case *sdk.ListToolsRequest:
			return serve(ctx, e, r, (*client).listTools)
		case *sdk.CallToolRequest:
			return serve(ctx, e, r, (*client).call)
		case *sdk.ListResourcesRequest:
			return serve(ctx, e, r, (*client).listResources)
		case *sdk.ListResourceTemplatesRequest:
			return serve(ctx, e, r, (*client).listTemplates)
		case *sdk.ReadResourceRequest:
			return serve(ctx, e, r, (*client).readResource)
		case *sdk.ListPromptsRequest:
			return serve(ctx, e, r, (*client).listPrompts)
		case *sdk.GetPromptRequest:
			return serve(ctx, e, r, (*client).getPrompt)
		case *sdk.ServerRequest[*taskParams]:
			return serve(ctx, e, r, taskMethods()[method])
		case *setLevelRequest:
			return serve(ctx, e, r, func(c *client, ctx context.Context, r *setLevelRequest) (sdk.Result, error) {
				if err := c.setLogLevel(ctx, r.Params.Level); err != nil {
					return nil, err
				}
				return forward()
			})
		}
		return forward()
	}
}

// serve finds the client of a request and answers it.
func serve[P sdk.Params](
	ctx context.Context, e *endpoint, r *sdk.ServerRequest[P],
	answer func(*client, context.Context, *sdk.ServerRequest[P]) (sdk.Result, error),
) (sdk.Result, error) {
	c, err := e.clientFor(r.Session, r.ClientInfo())
	if err != nil {
		return nil, mcpresult.ProtocolError(err)
	}
	res, err := answer(c, ctx, r)
	if err != nil {
		return nil, mcpresult.ProtocolError(err)
	}
	return res, nil
}

// plainCalls answers calls that need nothing of the SDK but its session, which connected is told.
func (e *endpoint) plainCalls(ctx context.Context) (plain *direct.Calls, connected func(*sdk.ServerSession)) {
	var session atomic.Pointer[sdk.ServerSession]
	ready := func() bool {
		s := session.Load()
		if s == nil {
			return false
		}
		hello := s.InitializeParams()
		return hello != nil && !mcpresult.Stateless(hello.ProtocolVersion)
	}
	return direct.New(ctx, ready, func(ctx context.Context, p *sdk.CallToolParamsRaw, reply func(sdk.Result, error)) {
		e.serveCall(ctx, &sdk.CallToolRequest{Session: session.Load(), Params: p}, func(res sdk.Result, err error) {
			if err != nil {
				res, err = nil, mcpresult.ProtocolError(err)
			}
			reply(res, err)
		})
	}), session.Store
}

// serveCall answers a call as serve does, by reply, which may come before it returns.
func (e *endpoint) serveCall(ctx context.Context, r *sdk.CallToolRequest, reply func(sdk.Result, error)) {
	c, err := e.clientFor(r.Session, r.ClientInfo())
	if err != nil {
		reply(nil, err)
		return
	}
	t, err := c.newToolCall(ctx, r)
	if err != nil {
		reply(nil, err)
		return
	}
	c.calls.Serve(t.ctx, t.request, t.call, func(out calls.Outcome, err error) {
		defer t.end()
		if err != nil {
			reply(nil, err)
			return
		}
		reply(t.result(out))
	})
}

// initialize opens the client's session, so that an error in its app file is
// reported at once, and adds instructions to the answer.
func (e *endpoint) initialize(
	ctx context.Context, session *sdk.ServerSession, info *sdk.Implementation, next func() (sdk.Result, error),
) (sdk.Result, error) {
	c, err := e.clientFor(session, info)
	if err == nil {
		_, err = c.open(ctx)
	}
	if err != nil {
		return nil, mcpresult.ProtocolError(err)
	}
	res, err := next()
	if err != nil {
		return nil, err
	}
	switch r := res.(type) {
	case *sdk.InitializeResult:
		r.Instructions = c.instructions(ctx)
	case *sdk.DiscoverResult:
		r.Instructions = c.instructions(ctx)
	}
	return res, nil
}

// checkCursor refuses a cursor: our lists have one page.
func checkCursor(cursor string) error {
	if cursor != "" {
		return &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidParams,
			Message: "this list has one page, and no cursor leads to another",
		}
	}
	return nil
}
