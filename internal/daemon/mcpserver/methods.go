package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/agent/surface"
	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/tool"
)

// private is the scope of everything that a client may keep: it was made for
// this client.
const private = "private"

// keepTools is how long a client may keep its tools, in milliseconds.
const keepTools = 60_000

// middleware answers what is the kernel's to answer. The rest is the SDK's.
func (h *endpoint) middleware(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch r := req.(type) {
		case *sdk.ServerRequest[*sdk.InitializeParams]:
			return h.initialize(ctx, r.Session, r.Params.ClientInfo, func() (sdk.Result, error) { return next(ctx, method, req) })
		case *sdk.ServerRequest[*sdk.DiscoverParams]:
			return h.initialize(ctx, r.Session, r.ClientInfo(), func() (sdk.Result, error) { return next(ctx, method, req) })
		case *sdk.ListToolsRequest:
			return serve(h, r, func(g *client) (sdk.Result, error) { return g.listTools(ctx, r) })
		case *sdk.CallToolRequest:
			return serve(h, r, func(g *client) (sdk.Result, error) { return g.call(ctx, r) })
		case *sdk.ListResourcesRequest:
			return serve(h, r, func(g *client) (sdk.Result, error) { return g.listResources(ctx, r) })
		case *sdk.ListResourceTemplatesRequest:
			return serve(h, r, func(g *client) (sdk.Result, error) { return g.listTemplates(ctx, r) })
		case *sdk.ReadResourceRequest:
			return serve(h, r, func(g *client) (sdk.Result, error) { return g.readResource(ctx, r) })
		case *sdk.ListPromptsRequest:
			return serve(h, r, func(g *client) (sdk.Result, error) { return g.listPrompts(ctx, r) })
		case *sdk.GetPromptRequest:
			return serve(h, r, func(g *client) (sdk.Result, error) { return g.getPrompt(ctx, r) })
		//lint:ignore SA1019 clients of older protocols ask in this way
		case *sdk.ServerRequest[*sdk.SetLoggingLevelParams]:
			return serve(h, r, func(g *client) (sdk.Result, error) {
				if err := g.setLogLevel(ctx, r.Params.Level); err != nil {
					return nil, err
				}
				return next(ctx, method, req)
			})
		}
		return next(ctx, method, req)
	}
}

// serve finds the guest of a request and lets it answer.
func serve[P sdk.Params](h *endpoint, r *sdk.ServerRequest[P], answer func(*client) (sdk.Result, error)) (sdk.Result, error) {
	g, err := h.clientFor(r.Session, r.ClientInfo())
	if err != nil {
		return nil, refusal(err)
	}
	res, err := answer(g)
	if err != nil {
		return nil, refusal(err)
	}
	return res, nil
}

// initialize welcomes a guest: its session is opened, so that a bad app file is
// told at once, and it is told what it will find.
func (h *endpoint) initialize(ctx context.Context, session *sdk.ServerSession, info *sdk.Implementation, next func() (sdk.Result, error)) (sdk.Result, error) {
	g, err := h.clientFor(session, info)
	if err == nil {
		_, err = g.open(ctx)
	}
	if err != nil {
		return nil, refusal(err)
	}
	res, err := next()
	if err != nil {
		return nil, err
	}
	switch r := res.(type) {
	case *sdk.InitializeResult:
		r.Instructions = g.instructions(ctx)
	case *sdk.DiscoverResult:
		r.Instructions = g.instructions(ctx)
	}
	return res, nil
}

// instructions tell a model what it could not see from the tools alone.
func (g *client) instructions(ctx context.Context) string {
	s, err := g.open(ctx)
	if err != nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("These tools are called through Callgate. Arguments of a wrong type are mended where that is safe, and an error says what to change. " +
		"Some calls need a human's approval: one that answers \"waiting for approval\" has not run; approvals.collect gives its result once the human has answered.")
	if plan, err := g.plan(ctx, s); err == nil {
		switch plan.Mode {
		case surface.Discovery:
			fmt.Fprintf(&b, " Not all tools are listed: %d more are found with search_tools and called with execute_tool.", len(plan.PerTool)-len(plan.Shown)+unlisted(plan, func(name string) string { return s.View().FullName(ctx, g.surface(), name) }))
		case surface.CompactDirect:
			b.WriteString(" Tools are listed without their parameters: get_tool tells them, and so does the error of a call that lacks one.")
		}
	}
	for _, w := range s.Warnings() {
		b.WriteString("\n" + w)
	}
	return b.String()
}

// unlisted is how many of the shown tools are not among those that a plan
// weighed, by their full names: the kernel's own.
func unlisted(p *surface.Plan, named func(string) string) int {
	weighed := make(map[string]bool, len(p.PerTool))
	for _, c := range p.PerTool {
		weighed[c.Name] = true
	}
	n := 0
	for _, e := range p.Shown {
		if !weighed[strings.ReplaceAll(named(e.Name), "__", ".")] {
			n++
		}
	}
	return n
}

// wholeList refuses a page of a list that has but one.
func wholeList(cursor string) error {
	if cursor != "" {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this list has one page, and no cursor leads to another"}
	}
	return nil
}

func (g *client) listTools(ctx context.Context, r *sdk.ListToolsRequest) (sdk.Result, error) {
	if r.Params != nil {
		if err := wholeList(r.Params.Cursor); err != nil {
			return nil, err
		}
	}
	tools, err := g.list(ctx)
	if err != nil {
		return nil, err
	}
	return &sdk.ListToolsResult{Tools: tools, Cacheable: sdk.Cacheable{TTLMs: keepTools, CacheScope: private}}, nil
}

// call makes a call, or takes up one that was left behind.
func (g *client) call(ctx context.Context, r *sdk.CallToolRequest) (sdk.Result, error) {
	p := g.listen(r)
	defer p.close()
	s, err := g.open(ctx)
	if err != nil {
		return nil, err
	}
	name := s.View().FullName(ctx, g.surface(), r.Params.Name)
	key := func() string { return g.callKey(g.ctx, name, r.Params.Arguments) }
	f, err := g.findSuspended(r.Params.RequestState, key)
	if err != nil {
		return nil, err
	}
	v := newClientRequest(g, r, r.Params.InputResponses)
	v.progress = p
	if f == nil {
		f = g.startCall(v, key, func(f *pendingCall) *tool.Result { return f.call(s, name, r.Params.Arguments, false) })
	}
	left, err := f.await(ctx, v)
	switch {
	case err != nil:
		return nil, err
	case left.waiting != nil:
		return g.waitingResult(r, left.waiting), nil
	case left.asked != nil:
		res := mcpresult.InputCall()
		res.Content, res.InputRequests, res.RequestState = nil, left.asked, left.state
		return &res, nil
	}
	if result := f.end.result; result.Status == tool.Waiting && result.Approval != "" {
		return g.waitingResult(r, result), nil // it asked after another
	}
	if result := f.end.result; result.Error != nil && stateless(v.version) {
		if lack := f.missingCapability(result.Call); lack != nil {
			return nil, lack // the client is told in the protocol's own words what it would need
		}
	}
	return g.toMCP(r, f.end.result), nil
}
