package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/gate/binding"
	"callgate/internal/serverlock"
	"callgate/internal/source/mcp/dial"
	"callgate/internal/source/mcp/toolcache"
	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

// maxExtension is how many times its timeout a call may last at most, with
// progress.
const maxExtension = 20

// publisher makes tools of what the server listed.
type publisher struct {
	*identity
	inputs        *inputs
	guard         guarded
	storeArtifact translate.StoreFunc
}

// publish makes tools of a listing: of the definitions that vet leaves in, if
// there is a vet, and that the app file does not turn off; and tools that read
// the server's resources and prompts, if it has any. The terms say what their
// calls claim.
func (p *publisher) publish(
	listing *toolcache.Listing, terms serverlock.Terms, vet func([]Definition) []Definition,
) ([]*tool.Tool, []Problem) {
	terms.Name = p.cfg.Name
	problems := slices.Clone(listing.Notes)
	entries := listing.Tools
	if vet != nil {
		entries = vetted(entries, vet)
	}
	byUpstream := names(listing)
	tools := make([]*tool.Tool, 0, len(entries)+len(readers))
	for _, e := range entries {
		name := byUpstream[e.Name]
		cfg := p.settings(e.Name, name)
		if cfg.Off {
			continue
		}
		t, notes := p.tool(e, name, cfg, terms)
		for _, note := range notes {
			problems = append(problems, Problem{Tool: e.Name, Message: note})
		}
		tools = append(tools, t)
	}
	known := slices.Concat(slices.Collect(maps.Keys(byUpstream)), slices.Collect(maps.Values(byUpstream)))
	for _, r := range readers {
		if !r.offered(listing) {
			continue
		}
		var cfg ToolConfig
		if _, theirs := byUpstream[r.name]; !theirs { // a setting under this name is for the server's own tool first
			cfg = p.cfg.Tools[r.name]
		}
		if known = append(known, r.name); !cfg.Off {
			tools = append(tools, p.reader(r, cfg, terms))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.cfg.Tools)) {
		if !slices.Contains(known, name) {
			problems = append(problems, Problem{
				Tool: name, Message: "the app file speaks of it, and the server does not have it",
			})
		}
	}
	return tools, append(problems, unusedLocks(terms, byUpstream)...)
}

// names gives each tool of a listing its name, by the server's. All definitions
// have a part in this, so that a name does not depend on what is published.
func names(listing *toolcache.Listing) map[string]string {
	defs := make([]Definition, len(listing.Tools))
	for i, e := range listing.Tools {
		defs[i] = e.Definition
	}
	byUpstream := make(map[string]string, len(defs))
	for i, name := range translate.Names(defs, resourcesTool, promptsTool) {
		byUpstream[defs[i].Name] = name
	}
	return byUpstream
}

// vetted returns the entries whose definitions may be published.
func vetted(entries []toolcache.Entry, vet func([]Definition) []Definition) []toolcache.Entry {
	defs := make([]Definition, len(entries))
	for i, e := range entries {
		defs[i] = e.Definition
	}
	allowed := map[string]bool{}
	for _, d := range vet(defs) {
		allowed[d.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e toolcache.Entry) bool { return !allowed[e.Name] })
}

// settings finds what the app file says of a tool, by the server's name for it
// or by ours.
func (p *publisher) settings(upstream, name string) ToolConfig {
	if cfg, ok := p.cfg.Tools[upstream]; ok {
		return cfg
	}
	return p.cfg.Tools[name]
}

// addDestinations declares the destinations that a tool's parameters name. A tool that
// sends something to any address is no low risk, whatever its name and its annotations
// say. The app file may say so: tools: {NAME: {risk: low}}.
func addDestinations(r *tool.Runtime, input json.RawMessage) {
	mode := tool.IS
	if r.SideEffect.Durable() {
		mode = tool.IX
	}
	declared := binding.DestinationEffects(input, mode)
	if r.Effects = append(r.Effects, declared...); len(declared) > 0 && r.Risk == tool.Low {
		r.Risk = tool.Medium
	}
}

// tool makes one tool.
func (p *publisher) tool(
	e toolcache.Entry, name string, cfg ToolConfig, terms serverlock.Terms,
) (*tool.Tool, []string) {
	runtime, note := e.Runtime(cfg)
	notes := slices.Clone(e.Notes)
	if note != "" {
		notes = append(notes, note)
	}
	notes = append(notes, claim(&runtime, terms, e.InputSchema(), e.Name, name)...)
	if cfg.Risk == "" && !e.ClosedWorld() {
		addDestinations(&runtime, e.InputSchema())
	}
	t := p.base(name, runtime)
	t.Spec.Description = e.DescriptionFor(p.cfg.Name)
	t.Spec.Input = e.InputSchema()
	t.Spec.Aliases = e.Aliases(p.cfg.Name)
	if e.Typed {
		t.Spec.Output = e.Output
	}
	t.Handler = &handler{
		inputs: p.inputs, upstream: e.Name, dotted: t.Spec.Name, changes: runtime.SideEffect.Durable(),
		storeArtifact: p.storeArtifact,
	}
	return t, notes
}

// base is what all tools of the server have in common.
func (p *publisher) base(name string, runtime tool.Runtime) *tool.Tool {
	runtime.Timeout = p.cfg.StartTimeout + maxExtension*p.cfg.CallTimeout
	id := tool.ID{Namespace: p.namespace, Name: name, Version: tool.Version{Major: 1}}
	return &tool.Tool{ID: id, Spec: tool.Spec{Name: id.Dotted()}, Runtime: runtime}
}

// handler calls one tool of the server.
type handler struct {
	inputs        *inputs
	upstream      string // the server's name for the tool
	dotted        string
	changes       bool // it may change something
	storeArtifact translate.StoreFunc
}

// Prompt reports that Execute returns soon after its context has ended: of a local server all that it waits for ends
// with the context. Requests to remote servers go through more hands.
func (h *handler) Prompt() bool { return h.inputs.cfg.Command != "" }

// Ready starts a local server, if it does not run.
func (h *handler) Ready(ctx context.Context) error {
	if h.inputs.cfg.Command == "" {
		return nil
	}
	c, _, err := h.inputs.sender.connector.Get(ctx)
	if err != nil {
		return err
	}
	h.inputs.sender.connector.Free(c)
	h.inputs.sender.connector.StopWhenIdle()
	return nil
}

// Execute calls the tool at its server.
func (h *handler) Execute(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
	args := call.Args
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	var res *sdk.CallToolResult
	err := h.inputs.do(ctx, request{
		method: "tools/call", call: call.ID, grant: grant, tool: h.dotted, changes: h.changes,
	},
		func(ctx context.Context, c *dial.Conn, r round) (_ reply, err error) {
			params := &sdk.CallToolParams{
				Meta: r.meta, Name: h.upstream, Arguments: args, InputResponses: r.answers, RequestState: r.state,
			}
			params.SetProgressToken(r.token)
			if res, err = c.CallTool(ctx, params); err != nil {
				return reply{}, err
			}
			return reply{res.NeedsInput(), res.InputRequests, res.RequestState}, nil
		})
	if err != nil {
		return nil, err
	}
	return translate.Result(ctx, h.dotted, res, h.storeArtifact), nil
}
