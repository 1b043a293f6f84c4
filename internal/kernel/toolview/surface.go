package toolview

import (
	"context"
	"slices"
	"strings"

	"callgate/internal/agent/surface"
	"callgate/internal/app"
	"callgate/internal/control"
	"callgate/internal/registry"
	"callgate/internal/resulttext"
	"callgate/tool"
)

// SurfaceConfig is how a reader wants to be shown a session's tools. The zero
// value is as the app says.
type SurfaceConfig struct {
	Mode   string // direct, compact_direct or discovery; empty: as the app says, else by the budget
	Window int    // tokens; 0: as the app says
	// WindowFrom says where Window is from: surface.FromFlag or FromModel.
	WindowFrom string
	Client     string // the name of an MCP client, for its window
	ForMCP     bool   // never cost more than the tools themselves would
	// BareNames shows the tools of MCP servers by the names that their servers
	// give them, where only one tool has that name; see FullName.
	BareNames bool
}

// plannedSurface is a surface that a session was shown.
type plannedSurface struct {
	SurfaceConfig
	mode string // of the app: see How
	plan *surface.Plan
	full map[string]string // dotted names, by the bare ones in the plan
	wire map[string]string // the names for a provider, by the dotted ones
	seen map[string]string // those of them that are shown
}

// Surface returns the tools as the session's model is shown them, and why so.
// It is made once for each way of asking, and each mode of the app, and then stays the same to the byte,
// whatever is called and whatever comes and goes: a change at the beginning of
// a prompt is paid for again. Tools that came later are found by search.
func (v *View) Surface(ctx context.Context, c SurfaceConfig) (*surface.Plan, error) {
	p, err := v.planned(ctx, c)
	return p.plan, err
}

// FullName returns the name of a tool that means it everywhere, when a surface
// with bare names shows it by another; any other name is returned as it is.
func (v *View) FullName(ctx context.Context, c SurfaceConfig, name string) string {
	if !c.BareNames {
		return name
	}
	if p, err := v.planned(ctx, c); err == nil && p.full[name] != "" {
		return p.full[name]
	}
	return name
}

func (v *View) planned(ctx context.Context, c SurfaceConfig) (plannedSurface, error) {
	if c.Mode != "" && !surface.Mode(c.Mode).Valid() {
		return plannedSurface{}, tool.Errorf("toolview.Surface", tool.Invalid,
			"%q is not a way to show tools", tool.Truncate(c.Mode)).WithHint("use direct, compact_direct or discovery")
	}
	mode := v.how.AppMode.Get().Name
	same := func(p plannedSurface) bool { return p.SurfaceConfig == c && p.mode == mode }
	v.mu.Lock()
	if i := slices.IndexFunc(v.plans, same); i >= 0 {
		defer v.mu.Unlock()
		return v.plans[i], nil
	}
	v.mu.Unlock()
	made, err := v.plan(ctx, c)
	if err != nil {
		return plannedSurface{}, err
	}
	made.mode = mode
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := slices.IndexFunc(v.plans, same); i >= 0 {
		return v.plans[i], nil // another caller was faster
	}
	v.plans = append(v.plans, made)
	return made, nil
}

func (v *View) plan(ctx context.Context, c SurfaceConfig) (plannedSurface, error) {
	snap, err := v.maker.Tools.Snapshot(ctx)
	if err != nil {
		return plannedSurface{}, err
	}
	cfg := v.surfaceConfig(c)
	items, own := v.items(snap, c.ForMCP, &cfg)
	made := plannedSurface{SurfaceConfig: c}
	if c.BareNames {
		made.full = v.useBareNames(snap.View(v.caller.Place().Scope), items, own)
	}
	made.wire = make(map[string]string, len(items)+len(own))
	for _, item := range slices.Concat(items, own) {
		made.wire[item.Tool.ID.Dotted()] = item.Wire
	}
	made.plan = v.maker.planner.Plan(snap.Generation, items, own, cfg)
	made.seen = shownNames(made.plan, made.wire)
	return made, nil
}

// surfaceConfig is what the reader asks for, and what the app says where the
// reader asks for nothing.
func (v *View) surfaceConfig(c SurfaceConfig) surface.Config {
	how := v.how.Surface
	cfg := surface.Config{
		Window: c.Window, WindowFrom: c.WindowFrom, Force: surface.Mode(c.Mode), Client: c.Client, ForMCP: c.ForMCP,
		DirectModules: how.DirectModules, Pinned: how.Pinned,
		Primitives: how.Primitives, NoPrimitives: how.Primitives != nil && len(how.Primitives) == 0,
	}
	if cfg.Window == 0 {
		cfg.Window, cfg.WindowFrom = how.Window, ""
	}
	if cfg.Force == "" {
		cfg.Force = surface.Mode(how.Mode)
	}
	if len(v.maker.Servers.In(v.caller.Place().Scope).Warnings()) > 0 { // tools may come later, and must be found
		cfg.Pinned = append(slices.Clone(cfg.Pinned), "search_tools", "get_tool", "execute_tool")
	}
	return cfg
}

// items returns the session's tools and the kernel's own, under the names that
// a provider is given.
func (v *View) items(snap *registry.Snapshot, mcp bool, cfg *surface.Config) (items, own []surface.Item) {
	all := cfg.Primitives == nil
	var names []string
	for t := range snap.View(v.caller.Place().Scope).All() {
		switch {
		case !v.caller.Sees(t), t.Runtime.FoundOnly, t.Runtime.Unlisted():
		case t.Runtime.Control && !v.offersControl(t, mcp):
		case t.Runtime.Control:
			name := t.ID.Name
			if t.ID.Namespace != control.Namespace {
				name = t.ID.Dotted()
			}
			own = append(own, surface.Item{Tool: t, Wire: tool.WireName(name)})
			names = append(names, name)
			if all {
				cfg.Primitives = append(cfg.Primitives, t.ID.Dotted())
			}
		default:
			items = append(items, surface.Item{Tool: t})
			names = append(names, t.ID.Dotted())
			if !mcp && !cfg.NoPrimitives && surface.IsOperational(t.ID) {
				cfg.Pinned = append(slices.Clip(cfg.Pinned), t.ID.Dotted())
			}
		}
	}
	if len(items) == 0 { // nothing here has a result that is cut
		own = slices.DeleteFunc(own, func(i surface.Item) bool { return i.Tool.ID.Dotted() == resulttext.ArtifactReader })
	}
	wire := tool.NewWireTable(names)
	for i := range items {
		items[i].Wire, _ = wire.Wire(items[i].Tool.ID.Dotted())
	}
	return items, own
}

// offersControl reports whether a control tool means anything in this session.
// An agent of ours waits for a human by itself; a client may not.
func (v *View) offersControl(t *tool.Tool, mcp bool) bool {
	if of := t.Runtime.Feature; of != "" && !slices.Contains(v.how.Features, of) {
		return false
	}
	switch t.ID.Name {
	case "collect":
		return mcp
	case "propose_tool", "propose_skill", "propose_config_change": // a client is not told how they end
		return !mcp
	case "core_job":
		return v.caller.Principal().Lane == app.EdgeLane
	}
	return true
}

// useBareNames gives the tools of MCP servers the names that their servers give
// them, where providers accept those, no other tool here has them, and they are
// no spelling of a tool of the kernel's. It returns the dotted names by the bare
// ones.
func (v *View) useBareNames(in *registry.View, items, kernels []surface.Item) map[string]string {
	upstream := v.maker.Servers.In(v.caller.Place().Scope).UpstreamNames()
	claims := map[string]int{}
	for _, item := range slices.Concat(items, kernels) {
		claims[item.Wire]++
		if name := upstream[item.Tool.ID.Namespace][item.Tool.ID.Name]; name != "" && name != item.Wire {
			claims[name]++
		}
	}
	full := map[string]string{}
	for i, item := range items {
		name := upstream[item.Tool.ID.Namespace][item.Tool.ID.Name]
		if isPlainName(name) && claims[name] == 1 && !in.Reserved(name) {
			items[i].Wire = name
			full[name] = item.Tool.ID.Dotted()
		}
	}
	return full
}

// isPlainName reports whether every provider accepts a name.
func isPlainName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return name != "" && len(name) <= tool.MaxWire && strings.Trim(name, letters) == ""
}
