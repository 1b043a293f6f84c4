package mcpserver

import (
	"context"
	"encoding/json"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/agent/surface"
	"callgate/internal/daemon/mcpserver/tooldef"
	"callgate/internal/gate/schema"
	"callgate/internal/kernel/modules"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/tool"
)

// list returns the guest's tools, made the first time.
func (g *client) list(ctx context.Context) ([]*sdk.Tool, error) {
	g.opening.Lock()
	defer g.opening.Unlock()
	if g.tools != nil {
		return g.tools, nil
	}
	s, err := g.openLocked(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := g.plan(ctx, s)
	if err != nil {
		return nil, err
	}
	list, typed := make([]*sdk.Tool, len(plan.Shown)), map[string]json.RawMessage{}
	for i, e := range plan.Shown {
		one := &sdk.Tool{Name: e.Name, Description: e.Description, InputSchema: tooldef.Schema(e.Schema)}
		if v, err := s.View().Tool(ctx, s.View().FullName(ctx, g.surface(), e.Name)); err == nil {
			one.Title = tooldef.Title(v.Tool)
			one.Annotations = tooldef.Annotations(v.Tool)
			if out, ok := tooldef.OutputSchema(v.Tool.Spec.Output); ok && structured(v.Tool) && (plan.Mode == surface.Direct || string(e.Schema) != tooldef.OpenObject) {
				one.OutputSchema = out
				typed[e.Name] = v.Tool.Spec.Output
			}
		}
		list[i] = one
	}
	g.tools, g.typed = list, typed
	return list, nil
}

func (g *client) plan(ctx context.Context, s *session.Session) (*surface.Plan, error) {
	return s.View().Surface(ctx, g.surface())
}

// surface is how the guest is shown its tools.
func (g *client) surface() toolview.SurfaceConfig {
	return toolview.SurfaceConfig{ForMCP: true, Client: g.name, Mode: g.host.opt.Mode, BareNames: g.host.opt.BareNames}
}

// outputSchema returns the output schema of a tool that the guest was shown with
// one; nil for any other.
func (g *client) outputSchema(name string) json.RawMessage {
	g.opening.Lock()
	defer g.opening.Unlock()
	return g.typed[name]
}

// matchesSchema reports whether data are as they were promised.
func (g *client) matchesSchema(promised, data json.RawMessage) bool {
	s, err := schema.Compile(promised)
	return err == nil && s.CheckResult(data) == nil
}

// structured reports whether a tool's data are all that it has to say. What the
// built-in modules have to say is their text, and their data are beside it.
func structured(t *tool.Tool) bool {
	return !slices.Contains(modules.Names(), t.ID.Namespace)
}
