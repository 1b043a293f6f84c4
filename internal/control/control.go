package control

import (
	"context"
	"encoding/json"
	"time"

	"callgate/internal/gate/schema"
	"callgate/internal/search"
	"callgate/tool"
)

// Namespace is the module of the tools by which the others are found, and
// Approvals is the module of the tool that collects calls which wait for a human.
const (
	Namespace = "context_builder"
	Approvals = "approvals"
)

// ToolView is a tool as a session sees it.
type ToolView struct {
	*tool.Tool
	Policy   string // allow, or approve
	Withheld bool   // the gate refuses it now, with a reason
}

// Session is what one session sees and does.
type Session interface {
	// Search finds tools by a description of what they should do.
	Search(ctx context.Context, r search.Request) (*search.Response, error)
	// Tool returns one tool by any of its names.
	Tool(ctx context.Context, name string) (ToolView, error)
	// Modules returns the modules that the session sees, by name.
	Modules(ctx context.Context) ([]Module, error)
	// CallChild makes a call through the gate, as the child of another.
	CallChild(ctx context.Context, parent, name string, args json.RawMessage) *tool.Result
	// Collect returns what became of a call that waits for a human, by the id of
	// its approval. It waits for the end at most that long, then answers that the
	// call is still waiting. An approval that somebody else asked for is NotFound.
	Collect(ctx context.Context, approval string, wait time.Duration) (*tool.Result, error)
}

// Module is a group of tools, a category to a model.
type Module struct {
	Name    string
	Summary string
	Tools   []*tool.Tool // by name
}

// Sessions finds the session on whose behalf a call is made.
type Sessions func(id string) (Session, error)

// patience bounds a control tool itself. Its target has a time of its own, and
// may wait for a human first.
const patience = 24 * time.Hour

// Tools makes the kernel's own tools.
func Tools(sessions Sessions) []*tool.Tool {
	d := &discovery{sessions: sessions}
	execute := define(Namespace, "execute_tool", executeText, executeSchema, d.execute)
	execute.Handler = executor{d}
	execute.Runtime.Idempotent = false // the target decides that
	return []*tool.Tool{
		define(Namespace, "search_tools", searchText, searchSchema, d.search),
		define(Namespace, "get_tool", getText, getSchema, d.get),
		execute,
		define(Namespace, "list_categories", categoriesText, categoriesSchema, d.categories),
		define(Namespace, "browse_category", browseText, browseSchema, d.browse),
		define(Approvals, "collect", collectText, collectSchema, d.collect),
	}
}

func define(module, name, text, input string, run tool.HandlerFunc) *tool.Tool {
	t := &tool.Tool{
		ID:      tool.ID{Namespace: module, Name: name, Version: tool.Version{Major: 1}},
		Spec:    tool.Spec{Description: text, Input: json.RawMessage(input)},
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.None, Idempotent: true, Timeout: patience, Control: true},
		Handler: run,
	}
	t.Spec.Name = t.ID.Dotted()
	return t
}

// discovery answers the discovery tools.
type discovery struct {
	sessions Sessions
	schemas  schema.Cache
}

// signature is a tool's parameters in a line.
func (d *discovery) signature(t *tool.Tool) string {
	s, err := d.schemas.Get(t.Spec.Input)
	if err != nil {
		return ""
	}
	return s.Signature()
}

// parseCall reads a call's arguments, which met their schema, and finds the session
// on whose behalf it is made.
func (d *discovery) parseCall(call tool.Call, into any) (Session, error) {
	if err := parseArgs(call, into); err != nil {
		return nil, err
	}
	return d.sessions(call.Principal.Session)
}

func parseArgs(call tool.Call, into any) error {
	return tool.DecodeArgs(call.Tool.Dotted(), call.Args, into)
}
