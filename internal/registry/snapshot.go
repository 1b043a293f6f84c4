package registry

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"callgate/tool"
)

// Snapshot is every tool of one generation.
type Snapshot struct {
	Generation uint64
	Problems   []Problem

	global *View
	scoped map[string]*View // scopes that have tools of their own
}

// View is what one scope sees: the global tools, overridden by its own.
type View struct {
	byID   map[tool.ID]*tool.Tool
	byName map[string][]*tool.Tool // dotted name → its versions, newest first
	sorted []*tool.Tool            // by dotted name, newest first

	names func() *nameIndex // built when a name first needs more than an exact lookup
}

// assemble builds a snapshot from the tools of the sources.
func assemble(generation uint64, sources []*entry) *Snapshot {
	s := &Snapshot{Generation: generation, scoped: make(map[string]*View)}
	layers := make(map[string][]*tool.Tool)
	owner := make(map[string]map[tool.ID]bool)
	for _, e := range sources {
		s.Problems = append(s.Problems, e.issues...)
		if owner[e.scope] == nil {
			owner[e.scope] = make(map[tool.ID]bool)
		}
		for _, t := range e.tools {
			if !owner[e.scope][t.ID] { // the first source that has an ID wins it
				owner[e.scope][t.ID] = true
				layers[e.scope] = append(layers[e.scope], t)
			}
		}
	}
	s.global = newView(layers[Global])
	for scope, own := range layers {
		if scope != Global {
			s.scoped[scope] = newView(override(layers[Global], own))
		}
	}
	return s
}

// override returns base without the tools that own replaces by name, then own.
func override(base, own []*tool.Tool) []*tool.Tool {
	replaced := make(map[string]bool, len(own))
	for _, t := range own {
		replaced[t.ID.WithoutVersion()] = true
	}
	out := make([]*tool.Tool, 0, len(base)+len(own))
	for _, t := range base {
		if !replaced[t.ID.WithoutVersion()] {
			out = append(out, t)
		}
	}
	return append(out, own...)
}

func newView(tools []*tool.Tool) *View {
	v := &View{
		byID:   make(map[tool.ID]*tool.Tool, len(tools)),
		byName: make(map[string][]*tool.Tool, len(tools)),
		sorted: slices.Clone(tools),
	}
	slices.SortFunc(v.sorted, func(a, b *tool.Tool) int {
		return cmp.Or(cmp.Compare(a.ID.Namespace, b.ID.Namespace), cmp.Compare(a.ID.Name, b.ID.Name),
			b.ID.Version.Compare(a.ID.Version))
	})
	for _, t := range v.sorted {
		v.byID[t.ID] = t
		name := t.ID.Dotted()
		v.byName[name] = append(v.byName[name], t)
	}
	v.names = sync.OnceValue(func() *nameIndex { return indexNames(v) })
	return v
}

// View returns what a scope sees.
func (s *Snapshot) View(scope string) *View {
	if v := s.scoped[scope]; v != nil {
		return v
	}
	return s.global
}

// AllScopes yields the newest version of every tool of every scope, each once.
func (s *Snapshot) AllScopes() iter.Seq[*tool.Tool] {
	return func(yield func(*tool.Tool) bool) {
		seen := make(map[*tool.Tool]bool, s.global.Len())
		for _, v := range append(slices.Collect(maps.Values(s.scoped)), s.global) {
			for t := range v.All() {
				if !seen[t] && !yield(t) {
					return
				}
				seen[t] = true
			}
		}
	}
}

// Len returns the number of tools, counting each version.
func (v *View) Len() int { return len(v.sorted) }

// Get returns the tool with exactly this identity.
func (v *View) Get(id tool.ID) (*tool.Tool, bool) {
	t, ok := v.byID[id]
	return t, ok
}

// Match returns the newest tool that a reference asks for.
func (v *View) Match(ref tool.Ref) (*tool.Tool, bool) {
	for _, t := range v.byName[ref.Namespace+"."+ref.Name] {
		if ref.Matches(t.ID) {
			return t, true
		}
	}
	return nil, false
}

// Latest returns the newest version of a dotted name.
func (v *View) Latest(dotted string) (*tool.Tool, bool) {
	if versions := v.byName[dotted]; len(versions) > 0 {
		return versions[0], true
	}
	return nil, false
}

// All yields the newest version of every tool, by dotted name.
func (v *View) All() iter.Seq[*tool.Tool] {
	return func(yield func(*tool.Tool) bool) {
		for i, t := range v.sorted {
			older := i > 0 && v.sorted[i-1].ID.Namespace == t.ID.Namespace && v.sorted[i-1].ID.Name == t.ID.Name
			if !older && !yield(t) {
				return
			}
		}
	}
}

// Filter selects tools; zero fields do not restrict.
type Filter struct {
	Namespace string
	Prefix    string // of the identity, namespace:name@version
	Tag       string
}

// Find returns the tools, every version, that a filter selects.
func (v *View) Find(f Filter) []*tool.Tool {
	var found []*tool.Tool
	for _, t := range v.sorted {
		if (f.Namespace == "" || t.ID.Namespace == f.Namespace) &&
			(f.Prefix == "" || strings.HasPrefix(t.ID.String(), f.Prefix)) &&
			(f.Tag == "" || slices.Contains(t.Spec.Tags, f.Tag)) {
			found = append(found, t)
		}
	}
	return found
}
