package mcptools

import (
	"context"
	"encoding/json"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/gate"
	"callgate/internal/kernel/session"
	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

func (h *handlers) connect(ctx context.Context, r request, in serverName) (*tool.Result, error) {
	return r.change(ctx, in.Server, func(s *mcp.Server) (string, error) {
		return "is connected", s.Refresh(ctx)
	})
}

func (h *handlers) disconnect(ctx context.Context, r request, in serverName) (*tool.Result, error) {
	return r.change(ctx, in.Server, func(s *mcp.Server) (string, error) {
		if err := r.idle(s); err != nil {
			return "", err
		}
		s.Disconnect()
		return "is disconnected; the next call of one of its tools starts it again", nil
	})
}

func (h *handlers) reconnect(ctx context.Context, r request, in serverName) (*tool.Result, error) {
	return r.change(ctx, in.Server, func(s *mcp.Server) (string, error) {
		if err := r.idle(s); err != nil {
			return "", err
		}
		return "was started again", s.Restart(ctx)
	})
}

// idle refuses what would end the calls of others.
func (r request) idle(s *mcp.Server) error {
	if n := s.Status().InFlight + s.Status().Waiting; n > 0 {
		return tool.Errorf(r.op, tool.Conflict, "%s of %s under way, maybe for others", amount.As(n, "call is", "calls are"),
			s.Config().Name).WithHint("try again when they have ended; a human can do it at once: callgate mcp restart")
	}
	return nil
}

// change does something with a server, and tells how the server is then.
func (r request) change(ctx context.Context, name string, do func(*mcp.Server) (string, error)) (*tool.Result, error) {
	_, got, err := r.find(ctx, name)
	if err != nil {
		return nil, err
	}
	said, err := do(got)
	if err != nil {
		return nil, err
	}
	now, _, err := r.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return tool.OK(now.Name+" "+said, describe(now))
}

// forwarder is the handler of a tool that makes one call of a server's tool.
type forwarder struct {
	*handlers
	target func(args json.RawMessage) (target, error)
}

// target is the call that is made.
type target struct {
	server, tool string
	args         json.RawMessage
}

// Targets reads which call it will make, so that the gate knows what that touches before it is made.
func (f forwarder) Targets(args json.RawMessage) (calls []tool.Call, inPlace bool) {
	t, err := f.target(args)
	if err != nil {
		return nil, true
	}
	module := t.server
	if !strings.HasPrefix(module, "mcp_") {
		module = translate.Namespace(module)
	}
	return []tool.Call{{Name: module + "." + bare(module, t.tool), Args: t.args}}, true
}

// Execute makes the call, through the gate. Its result is the result.
func (f forwarder) Execute(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	t, err := f.target(call.Args)
	if err != nil {
		return nil, err
	}
	r, err := f.open(call)
	if err != nil {
		return nil, err
	}
	s, _, err := r.find(ctx, t.server)
	if err != nil {
		return nil, err
	}
	name := bare(s.Module, t.tool)
	for ours, theirs := range r.servers.UpstreamNames()[s.Module] {
		if theirs == name {
			name = ours
			break
		}
	}
	name = s.Module + "." + name
	if err := r.mayCall(ctx, s.Module, name); err != nil {
		return nil, err
	}
	return r.session.Call(ctx, session.CallRequest{
		ID: gate.ChildID(call.ID), Name: name, Args: t.args, Parent: call.ID,
	}), nil
}

// mayCall refuses a name that means no tool of a module, or nothing. What is denied is a call all the same: the gate
// says why, and records it.
func (r request) mayCall(ctx context.Context, module, name string) error {
	seen, err := r.session.View().Tool(ctx, name)
	if _, denied := r.session.View().Denied(ctx, name); err != nil && denied {
		return nil
	}
	if err == nil && seen.ID.Namespace != module { // another tool is spelt like it
		err = tool.Errorf(r.op, tool.NotFound, "%s is no tool of this server", tool.Truncate(name)).
			WithHint("mcp.list_tools lists those that are")
	}
	return err
}

// bare is the name of a tool without its module.
func bare(module, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, module+"."), module+"__")
}

func callTarget(args json.RawMessage) (target, error) {
	var in struct {
		Server, Tool string
		Arguments    json.RawMessage
	}
	err := tool.DecodeArgs("mcp.call_tool", args, &in)
	if len(in.Arguments) == 0 {
		in.Arguments = json.RawMessage("{}")
	}
	return target{in.Server, in.Tool, in.Arguments}, err
}

func readTarget(args json.RawMessage) (target, error) {
	var in struct{ Server, URI string }
	if err := tool.DecodeArgs("mcp.read_resource", args, &in); err != nil {
		return target{}, err
	}
	given, err := json.Marshal(map[string]any{"uri": in.URI})
	return target{in.Server, resourcesTool, given}, err
}

func promptTarget(args json.RawMessage) (target, error) {
	var in struct {
		Server, Name string
		Arguments    map[string]string
	}
	if err := tool.DecodeArgs("mcp.get_prompt", args, &in); err != nil {
		return target{}, err
	}
	given := map[string]any{"name": in.Name}
	if in.Arguments != nil {
		given["arguments"] = in.Arguments
	}
	data, err := json.Marshal(given)
	return target{in.Server, promptsTool, data}, err
}
