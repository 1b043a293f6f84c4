package callgate

import (
	"context"
	"slices"

	"callgate/internal/agent/surface"
	"callgate/tool"
)

// SurfaceConfig is how somebody wants to be shown a session's tools. The zero
// value is as the app says.
type SurfaceConfig struct {
	Mode   string // direct, compact_direct or discovery; empty: as the app says, else by the budget
	Window int    // tokens; 0: as the app says
	Client string // the name of an MCP client, for its window
	ForMCP bool   // never cost more than the tools themselves would
}

// planned is a surface that a session was shown.
type planned struct {
	SurfaceConfig
	plan *surface.Plan
}

// Surface returns the tools as this session's model is shown them, and why so.
// It is made once for each way of asking and then stays the same to the byte,
// whatever is called and whatever comes and goes: what changes the beginning
// of a prompt is paid for again. Tools that came later are found by search.
func (s *Session) Surface(ctx context.Context, c SurfaceConfig) (*surface.Plan, error) {
	if c.Mode != "" && !surface.Mode(c.Mode).Valid() {
		return nil, tool.Errorf("callgate.Surface", tool.Invalid, "%q is not a way to show tools", tool.Clip(c.Mode)).WithHint("use direct, compact_direct or discovery")
	}
	s.mu.Lock()
	i := slices.IndexFunc(s.plans, func(p planned) bool { return p.SurfaceConfig == c })
	if i >= 0 {
		defer s.mu.Unlock()
		return s.plans[i].plan, nil
	}
	s.mu.Unlock()
	plan, err := s.plan(ctx, c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.plans, func(p planned) bool { return p.SurfaceConfig == c }); i >= 0 {
		return s.plans[i].plan, nil // somebody was faster
	}
	s.plans = append(s.plans, planned{c, plan})
	return plan, nil
}

func (s *Session) plan(ctx context.Context, c SurfaceConfig) (*surface.Plan, error) {
	snap, err := s.kernel.tools.Snapshot(ctx)
	if err != nil {
		return nil, err
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
	var items, control []surface.Item
	var names []string
	for t := range snap.View(s.door.Scope).All() {
		switch {
		case !s.door.Sees(t):
		case t.Runtime.Control:
			control = append(control, surface.Item{Tool: t, Wire: t.ID.Name})
			names = append(names, t.ID.Name)
		default:
			items = append(items, surface.Item{Tool: t})
			names = append(names, t.ID.Dotted())
		}
	}
	wire := tool.NewWireTable(names)
	for i := range items {
		items[i].Wire, _ = wire.Wire(items[i].Tool.ID.Dotted())
	}
	return s.kernel.planner.Plan(snap.Generation, items, control, cfg), nil
}
