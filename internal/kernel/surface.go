package kernel

import (
	"context"
	"slices"
	"strings"

	"callgate/internal/agent/surface"
	"callgate/internal/control"
	"callgate/tool"
)

// SurfaceConfig is how somebody wants to be shown a session's tools. The zero
// value is as the app says.
type SurfaceConfig struct {
	Mode   string // direct, compact_direct or discovery; empty: as the app says, else by the budget
	Window int    // tokens; 0: as the app says
	Client string // the name of an MCP client, for its window
	ForMCP bool   // never cost more than the tools themselves would
	// Bare shows the tools of MCP servers by the names that their servers give
	// them, where only one tool has that name; see Named.
	Bare bool
}

// planned is a surface that a session was shown.
type planned struct {
	SurfaceConfig
	plan *surface.Plan
	bare map[string]string // dotted names, by the bare ones in the plan
}

// Surface returns the tools as this session's model is shown them, and why so.
// It is made once for each way of asking and then stays the same to the byte,
// whatever is called and whatever comes and goes: what changes the beginning
// of a prompt is paid for again. Tools that came later are found by search.
func (s *Session) Surface(ctx context.Context, c SurfaceConfig) (*surface.Plan, error) {
	p, err := s.planned(ctx, c)
	return p.plan, err
}

// Named returns the name of a tool in words that mean it everywhere, when a bare
// surface shows it by another; any other name is returned as it is.
func (s *Session) Named(ctx context.Context, c SurfaceConfig, name string) string {
	if !c.Bare {
		return name
	}
	if p, err := s.planned(ctx, c); err == nil && p.bare[name] != "" {
		return p.bare[name]
	}
	return name
}

func (s *Session) planned(ctx context.Context, c SurfaceConfig) (planned, error) {
	if c.Mode != "" && !surface.Mode(c.Mode).Valid() {
		return planned{}, tool.Errorf("callgate.Surface", tool.Invalid, "%q is not a way to show tools", tool.Truncate(c.Mode)).WithHint("use direct, compact_direct or discovery")
	}
	s.mu.Lock()
	i := slices.IndexFunc(s.plans, func(p planned) bool { return p.SurfaceConfig == c })
	if i >= 0 {
		defer s.mu.Unlock()
		return s.plans[i], nil
	}
	s.mu.Unlock()
	made, err := s.plan(ctx, c)
	if err != nil {
		return planned{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.plans, func(p planned) bool { return p.SurfaceConfig == c }); i >= 0 {
		return s.plans[i], nil // somebody was faster
	}
	s.plans = append(s.plans, made)
	return made, nil
}

func (s *Session) plan(ctx context.Context, c SurfaceConfig) (planned, error) {
	snap, err := s.kernel.tools.Snapshot(ctx)
	if err != nil {
		return planned{}, err
	}
	cfg := surface.Config{Window: c.Window, Force: surface.Mode(c.Mode), Client: c.Client, ForMCP: c.ForMCP}
	if s.App != nil {
		how := s.App.Surface
		if cfg.Window == 0 {
			cfg.Window = how.Window
		}
		if cfg.Force == "" {
			cfg.Force = surface.Mode(how.Mode)
		}
		cfg.DirectModules, cfg.Pinned = how.DirectModules, how.Pinned
		cfg.Primitives, cfg.NoPrimitives = how.Primitives, how.Primitives != nil && len(how.Primitives) == 0
	}
	if len(s.serverWarnings()) > 0 { // tools may come later: they must be findable
		cfg.Pinned = append(slices.Clone(cfg.Pinned), "search_tools", "get_tool", "execute_tool")
	}
	all := cfg.Primitives == nil
	var items, own []surface.Item
	var names []string
	for t := range snap.View(s.door.Scope).All() {
		switch {
		case !s.door.CanSee(t):
		case t.Runtime.Control && !s.offers(t, c.ForMCP):
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
		}
	}
	wire := tool.NewWireTable(names)
	for i := range items {
		items[i].Wire, _ = wire.Wire(items[i].Tool.ID.Dotted())
	}
	made := planned{SurfaceConfig: c}
	if c.Bare {
		made.bare = s.bare(items, own)
	}
	made.plan = s.kernel.planner.Plan(snap.Generation, items, own, cfg)
	return made, nil
}

// bare gives the tools of MCP servers the names that their servers give them,
// where those are names, and no other tool here goes by them.
func (s *Session) bare(items, kernels []surface.Item) map[string]string {
	own := map[string]map[string]string{}
	for _, u := range s.upstreams() {
		own[u.Namespace()] = u.UpstreamNames()
	}
	claims := map[string]int{}
	for _, item := range slices.Concat(items, kernels) {
		claims[item.Wire]++
		if name := own[item.Tool.ID.Namespace][item.Tool.ID.Name]; name != "" && name != item.Wire {
			claims[name]++
		}
	}
	bare := map[string]string{}
	for i, item := range items {
		if name := own[item.Tool.ID.Namespace][item.Tool.ID.Name]; plainName(name) && claims[name] == 1 {
			items[i].Wire = name
			bare[name] = item.Tool.ID.Dotted()
		}
	}
	return bare
}

// plainName reports whether every provider takes a name.
func plainName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return name != "" && len(name) <= tool.MaxWire && strings.Trim(name, letters) == ""
}
