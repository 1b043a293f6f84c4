package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/agent/surface"
	"callgate/internal/daemon/mcpserver/calls"
	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/internal/daemon/mcpserver/tooldef"
	"callgate/internal/kernel/modules"
	"callgate/internal/kernel/session"
	"callgate/internal/observe"
	"callgate/tool"
)

// toolsTTL is how long a client may cache its tools, in milliseconds.
const toolsTTL = 60_000

// toolList is the tools as a client is shown them.
type toolList struct {
	tools   []*sdk.Tool
	outputs map[string]json.RawMessage // the output schemas of those that are shown with one
}

// same reports whether a client sees no difference between two lists.
func (l *toolList) same(other *toolList) bool {
	a, err := json.Marshal(l.tools)
	if err != nil {
		return false
	}
	b, err := json.Marshal(other.tools)
	return err == nil && bytes.Equal(a, b)
}

func (c *client) listTools(ctx context.Context, r *sdk.ListToolsRequest) (sdk.Result, error) {
	if r.Params != nil {
		if err := checkCursor(r.Params.Cursor); err != nil {
			return nil, err
		}
	}
	tools, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	return &sdk.ListToolsResult{Tools: tools, Cacheable: sdk.Cacheable{TTLMs: toolsTTL, CacheScope: private}}, nil
}

// list returns the client's tools. They are made once.
func (c *client) list(ctx context.Context) ([]*sdk.Tool, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.tools == nil {
		s, err := c.openLocked(ctx)
		if err != nil {
			return nil, err
		}
		if c.tools, err = c.newToolList(ctx, s); err != nil {
			return nil, err
		}
	}
	return c.tools.tools, nil
}

func (c *client) newToolList(ctx context.Context, s *session.Session) (*toolList, error) {
	plan, err := s.View().Surface(ctx, c.surface())
	if err != nil {
		return nil, err
	}
	list := &toolList{tools: make([]*sdk.Tool, len(plan.Shown)), outputs: map[string]json.RawMessage{}}
	for i, e := range plan.Shown {
		one := &sdk.Tool{Name: e.Name, Description: e.Description, InputSchema: tooldef.Schema(e.Schema)}
		list.tools[i] = one
		v, err := s.View().Tool(ctx, s.View().FullName(ctx, c.surface(), e.Name))
		if err != nil {
			continue
		}
		one.Title = tooldef.Title(v.Tool)
		one.Annotations = tooldef.Annotations(v.Tool)
		complete := plan.Mode == surface.Direct || string(e.Schema) != tooldef.OpenObject
		if out, ok := tooldef.OutputSchema(v.Tool.Spec.Output); ok && complete && structured(v.Tool) {
			one.OutputSchema = out
			list.outputs[e.Name] = v.Tool.Spec.Output
		}
	}
	return list, nil
}

// outputSchema returns the output schema of a tool that the client was shown
// with one, or nil.
func (c *client) outputSchema(name string) json.RawMessage {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.tools == nil {
		return nil
	}
	return c.tools.outputs[name]
}

// structured reports whether the data of a tool say all that its result says. The
// built-in modules write their results as text, and the data only add to it.
func structured(t *tool.Tool) bool {
	return !slices.Contains(modules.Names(), t.ID.Namespace)
}

// toolCall is a call of a client on its way.
type toolCall struct {
	*client
	ctx     context.Context // of the request, with its place in a trace
	session *session.Session
	request *calls.Request
	call    calls.Call
	name    string // by the client's name for it
	end     func() // its memory may be returned
}

// call makes a call, or resumes a suspended one.
func (c *client) call(ctx context.Context, r *sdk.CallToolRequest) (sdk.Result, error) {
	begun, err := c.begun.take(r) // first: other messages of the client wait for that
	if err != nil {
		return nil, err
	}
	t, err := c.newToolCall(ctx, r)
	if err != nil {
		if begun != nil {
			begun.Cancel()
		}
		return nil, err
	}
	defer t.end()
	t.call.Begun = begun
	out, err := c.calls.Do(t.ctx, t.request, t.call)
	if err != nil {
		return nil, err
	}
	return t.result(out)
}

func (c *client) newToolCall(ctx context.Context, r *sdk.CallToolRequest) (*toolCall, error) {
	if observe.From(ctx) == nil {
		ctx = observe.With(ctx, c.endpoint.opt.recorder)
	}
	if place, ok := r.Params.Meta["traceparent"].(string); ok { // the call is within what its client does
		ctx = observe.Within(ctx, place)
	}
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	req := calls.NewRequest(r, c.level(), r.Params.InputResponses)
	req.ProgressToken, req.Tool = r.Params.GetProgressToken(), r.Params.Name
	name := s.View().FullName(ctx, c.surface(), r.Params.Name)
	call := calls.Call{
		Session: s, Name: name, Args: r.Params.Arguments, State: r.Params.RequestState,
		Key: func() string { return c.callKey(name, r.Params.Arguments) },
	}
	call.ID, call.Again = c.endpoint.opt.Bridge.number(r.Params.Meta)
	end := c.use.begin(c.endpoint.large.Begin(len(r.Params.Arguments)))
	return &toolCall{c, ctx, s, req, call, r.Params.Name, end}, nil
}

// result is what the client is told of an outcome.
func (t *toolCall) result(out calls.Outcome) (sdk.Result, error) {
	if out.Task != nil {
		t.keepOwner(t.ctx, t.session, out.Task.ID)
		return newTaskResult("task", out.Task), nil
	}
	if out.Questions != nil {
		res := mcpresult.InputCall()
		res.Content, res.InputRequests, res.RequestState = nil, out.Questions, out.State
		return &res, nil
	}
	return t.client.result(t.ctx, t.session, t.name, t.request.Version, out)
}

// result writes the result of a call of a tool, which the client calls by that name.
func (c *client) result(
	ctx context.Context, s *session.Session, name, version string, out calls.Outcome,
) (sdk.Result, error) {
	names, err := s.View().Names(ctx, c.surface())
	if err != nil {
		return nil, err
	}
	to := mcpresult.Call{Version: version, Output: c.outputSchema(name), Names: names}
	if out.Waiting != nil {
		return to.Waiting(out.Waiting), nil
	}
	result := out.Result
	if result.Status == tool.Waiting && result.Approval != "" {
		return to.Waiting(result), nil // another call waits, and this one collects it
	}
	if out.MissingCapability != nil && mcpresult.Stateless(version) {
		return nil, out.MissingCapability
	}
	var link sdk.Content
	withheld := len(result.Content) == 0 && len(result.Data) == 0 // what the gate keeps back is no resource either
	if result.ArtifactRef != "" && !withheld {
		c.artifacts.allow(result.ArtifactRef)
		link = artifactLink(result.ArtifactRef)
	}
	return to.FromTool(result, link), nil
}
