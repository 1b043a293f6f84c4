package callgate

import (
	"context"
	"encoding/json"
	"strings"

	"callgate/internal/arbiter"
	"callgate/internal/control"
	"callgate/tool"
)

// sight is a session as the kernel's own tools see it.
type sight struct{ *Session }

var _ control.Session = sight{}

// sight finds the session on whose behalf a control tool is called.
func (k *Kernel) sight(id string) (control.Session, error) {
	s, err := k.Session(id)
	if err != nil {
		return nil, err
	}
	return sight{s}, nil
}

// Seen returns one tool by any of its names.
func (s sight) Seen(ctx context.Context, name string) (control.Seen, error) {
	v, err := s.Tool(ctx, name)
	if err != nil {
		return control.Seen{}, err
	}
	return control.Seen{Tool: v.Tool, Policy: string(v.Decision.Verdict)}, nil
}

// Modules returns the modules that the session sees, the kernel's own aside.
func (s sight) Modules(ctx context.Context) ([]control.Module, error) {
	tools, err := s.domain(ctx)
	if err != nil {
		return nil, err
	}
	var modules []control.Module
	for _, t := range tools { // by name, so a module's stand together
		if n := len(modules); n == 0 || modules[n-1].Name != t.ID.Namespace {
			modules = append(modules, control.Module{Name: t.ID.Namespace})
		}
		m := &modules[len(modules)-1]
		m.Tools = append(m.Tools, t)
	}
	for i := range modules {
		modules[i].Summary = s.kernel.summary(modules[i])
	}
	return modules, nil
}

// summary says in a line what a module is for: its own word, or the actions
// that it has.
func (k *Kernel) summary(m control.Module) string {
	if shipped := k.module(m.Name); shipped != nil {
		return shipped.Summary
	}
	const most = 6
	var names []string
	for _, t := range m.Tools[:min(most, len(m.Tools))] {
		names = append(names, t.ID.Name)
	}
	text := strings.Join(names, ", ")
	if len(m.Tools) > most {
		text += ", …"
	}
	return text
}

// Again makes a call as the child of another.
func (s sight) Again(ctx context.Context, parent, name string, args json.RawMessage) *tool.Result {
	return s.Ask(ctx, arbiter.Ask{Name: name, Args: args, Parent: parent})
}

// domain returns the tools that this session sees, by name, without the
// kernel's own.
func (s *Session) domain(ctx context.Context) ([]*tool.Tool, error) {
	snap, err := s.kernel.tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	var list []*tool.Tool
	for t := range snap.View(s.door.Scope).All() {
		if !t.Runtime.Control && s.door.Sees(t) {
			list = append(list, t)
		}
	}
	return list, nil
}
