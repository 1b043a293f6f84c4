package toolview

import (
	"context"

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
	executes := p.seen[control.Namespace+".execute_tool"] != ""
	return func(name string) (string, bool) {
		t, ok := v.latest(name)
		if !ok {
			return "", false
		}
		dotted := t.ID.Dotted()
		if called := p.seen[dotted]; called != "" {
			return called, true
		}
		if executes && !t.Runtime.Control && v.caller.Sees(t) {
			return dotted, true
		}
		return "", true
	}, nil
}

// shownNames returns the names that a plan shows, by the dotted ones.
func shownNames(p *surface.Plan, wire map[string]string) map[string]string {
	shown := make(map[string]bool, len(p.Shown))
	for _, e := range p.Shown {
		shown[e.Name] = true
	}
	seen := make(map[string]string, len(p.Shown))
	for dotted, name := range wire {
		if shown[name] {
			seen[dotted] = name
		}
	}
	return seen
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
