package toolview

import (
	"context"
	"slices"

	"callgate/internal/agent/surface"
	"callgate/internal/control"
	"callgate/internal/resulttext"
	"callgate/tool"
)

// Names returns the names by which the reader of a surface calls the session's tools:
// of a tool that it is shown the one it is shown by, of another the dotted one if
// execute_tool takes that. A tool that it can call in neither way it does not have.
func (v *View) Names(ctx context.Context, c SurfaceConfig) (resulttext.Names, error) {
	p, err := v.planned(ctx, c)
	if err != nil {
		return nil, err
	}
	shown := func(name string) bool {
		return slices.ContainsFunc(p.plan.Shown, func(e surface.Entry) bool { return e.Name == name })
	}
	wire := map[string]string{}
	for dotted, name := range p.wire {
		if shown(name) {
			wire[dotted] = name
		}
	}
	executes := wire[control.Namespace+".execute_tool"] != ""
	return func(name string) (string, bool) {
		t, ok := v.latest(name)
		if !ok {
			return "", false
		}
		dotted := t.ID.Dotted()
		if called := wire[dotted]; called != "" {
			return called, true
		}
		if executes && !t.Runtime.Control && v.caller.Sees(t) {
			return dotted, true
		}
		return "", true
	}, nil
}

// latest returns the tool with a dotted name, or with the bare name of one of the
// kernel's own.
func (v *View) latest(name string) (*tool.Tool, bool) {
	snap, err := v.maker.Tools.Snapshot(context.Background())
	if err != nil {
		return nil, false
	}
	in := snap.View(v.caller.Place().Scope)
	if t, ok := in.Latest(name); ok {
		return t, true
	}
	t, ok := in.Latest(control.Namespace + "." + name)
	return t, ok && t.Runtime.Control
}
