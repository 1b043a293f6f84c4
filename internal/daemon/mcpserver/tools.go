package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate"
	"callgate/internal/agent/surface"
	"callgate/internal/arbiter/schema"
	"callgate/tool"
)

// list returns the guest's tools, made the first time.
func (g *guest) list(ctx context.Context) ([]*sdk.Tool, error) {
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
		shown := &sdk.Tool{Name: e.Name, Description: e.Description, InputSchema: objectSchema(e.Schema)}
		if v, err := s.Tool(ctx, e.Name); err == nil {
			shown.Title = title(v.Tool)
			shown.Annotations = annotations(v.Tool)
			if out, ok := promise(v.Tool.Spec.Output); ok && structured(v.Tool) && (plan.Mode == surface.Direct || string(e.Schema) != openObject) {
				shown.OutputSchema = out
				typed[e.Name] = v.Tool.Spec.Output
			}
		}
		list[i] = shown
	}
	g.tools, g.typed = list, typed
	return list, nil
}

func (g *guest) plan(ctx context.Context, s *callgate.Session) (*surface.Plan, error) {
	return s.Surface(ctx, callgate.SurfaceConfig{ForMCP: true, Client: g.name, Mode: g.host.opt.Mode})
}

// promised returns the output schema of a tool that the guest was shown with
// one; nil for any other.
func (g *guest) promised(name string) json.RawMessage {
	g.opening.Lock()
	defer g.opening.Unlock()
	return g.typed[name]
}

// keeps reports whether data are as they were promised.
func (g *guest) keeps(promised, data json.RawMessage) bool {
	s, err := schema.Compile(promised)
	return err == nil && s.Conforms(data) == nil
}

// openObject is the schema of a tool whose parameters are not shown.
const openObject = `{"type":"object"}`

// objectSchema makes a schema one that the protocol allows: its root says that
// it is of an object.
func objectSchema(raw json.RawMessage) json.RawMessage {
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil || root == nil {
		return json.RawMessage(openObject)
	}
	if string(root["type"]) == `"object"` {
		return raw
	}
	root["type"] = json.RawMessage(`"object"`)
	fixed, err := json.Marshal(root)
	if err != nil {
		return json.RawMessage(openObject)
	}
	return fixed
}

// structured reports whether a tool's data are all that it has to say. What the
// built-in modules have to say is their text, and their data are beside it.
func structured(t *tool.Tool) bool {
	return !slices.Contains(callgate.Builtin(), t.ID.Namespace)
}

// promise is an output schema as clients are told it. They hold every success
// against it, and a result may be cut or kept back, so its root promises what
// may be there, not what must be. One that is not plainly of an object, or
// whose root says more than that, is not told at all.
func promise(raw json.RawMessage) (json.RawMessage, bool) {
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil || string(root["type"]) != `"object"` {
		return nil, false
	}
	for key := range root {
		if !slices.Contains([]string{"type", "properties", "required", "additionalProperties", "title", "description", "$schema", "$id", "$defs", "definitions", "examples", "$comment"}, key) {
			return nil, false
		}
	}
	delete(root, "required")
	delete(root, "additionalProperties")
	delete(root, "$id")
	told, err := json.Marshal(root)
	return told, err == nil
}

// title is a tool's name for people.
func title(t *tool.Tool) string {
	name := strings.ReplaceAll(t.ID.Name, "_", " ")
	if t.Runtime.Control {
		return strings.ToUpper(name[:1]) + name[1:]
	}
	return strings.TrimPrefix(t.ID.Namespace, "mcp_") + ": " + name
}

// lookups are those of the kernel's own tools that only look. Any other may do
// whatever it is told to call.
var lookups = []string{"search_tools", "get_tool", "list_categories", "browse_category"}

// annotations tell what the kernel knows of a tool's effects.
func annotations(t *tool.Tool) *sdk.ToolAnnotations {
	r := &t.Runtime
	reads := !r.SideEffect.Durable()
	harm := !reads && r.Risk.Level() >= tool.High.Level()
	open := r.SideEffect == tool.External || r.Network
	idempotent := r.Idempotent
	if r.Control && !slices.Contains(lookups, t.ID.Name) {
		reads, harm, open, idempotent = false, true, true, false
	}
	return &sdk.ToolAnnotations{
		Title: title(t), ReadOnlyHint: reads, DestructiveHint: &harm, IdempotentHint: idempotent, OpenWorldHint: &open,
	}
}
