package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/nearest"
	"callgate/tool"
)

// VisibleFunc reports whether a principal may know of a tool. A tool that it may
// not know of is never suggested and never makes a name ambiguous.
type VisibleFunc func(*tool.Tool) bool

// Resolve finds the one tool that a name means. Models write names in many
// ways, so it looks in this order and takes the first step that answers:
//
//  1. the identity, or an identity with a version range
//  2. the dotted name
//  3. the wire name; the kernel's own tools are shown by their bare action, and
//     no server's tool can take that from them. Where a module's tool has the same
//     action, the bare name is that tool's
//  4. a short name, or an alias that has the form of a name
//  5. the bare action, when only one tool has it
//  6. any of these with other case or other separators (:: __ _ - or space)
//
// Steps 4 to 6 are closed to the tools of upstream servers wherever a tool that is
// not a server's has that name in any spelling, whether it is visible or not; see
// Reserved.
//
// The first three are exact, and return even a tool that is not visible: the
// policy that hides it says how to answer. A name that means several tools is
// Ambiguous and lists them; a name that means no tool is NotFound, with the
// nearest names.
func (v *View) Resolve(name string, visible VisibleFunc) (*tool.Tool, error) {
	if versions := v.byName[name]; len(versions) > 0 {
		return versions[0], nil
	}
	if t, ok := v.resolveID(name); ok {
		return t, nil
	}
	if t, ok := v.names().wire[name]; ok {
		return t, nil
	}
	switch known := v.Candidates(name, visible); len(known) {
	case 0:
		return nil, v.UnknownError(name, visible)
	case 1:
		return known[0], nil
	default:
		return nil, ambiguous(name, known)
	}
}

// Candidates returns the visible tools that a name means which is not exact: those of
// the first of steps 4 to 6 that answers.
func (v *View) Candidates(name string, visible VisibleFunc) []*tool.Tool {
	names := v.names()
	for _, candidates := range [][]*tool.Tool{names.given[name], names.action[name], names.folded[fold(name)]} {
		if known := filter(candidates, visible); len(known) > 0 {
			return known
		}
	}
	return nil
}

// Denied finds the tool that a name means among those which denied reports, in
// the order of Resolve. It is for a name that Resolve does not find: a tool that is
// refused, and not hidden, is refused by each of its names. Of several the first
// by name answers.
func (v *View) Denied(name string, denied VisibleFunc) (*tool.Tool, bool) {
	names := v.names()
	for _, candidates := range [][]*tool.Tool{names.given[name], names.action[name], names.folded[fold(name)]} {
		if found := filter(candidates, denied); len(found) > 0 {
			return found[0], true
		}
	}
	return nil, false
}

func (v *View) resolveID(name string) (*tool.Tool, bool) {
	if !strings.Contains(name, ":") || strings.Contains(name, "::") {
		return nil, false
	}
	ref, err := tool.ParseRef(name)
	if err != nil {
		return nil, false
	}
	return v.Match(ref)
}

// nameIndex finds tools by every name but the dotted one.
type nameIndex struct {
	wire   map[string]*tool.Tool
	given  map[string][]*tool.Tool // short names, and aliases in the form of a name
	action map[string][]*tool.Tool
	folded map[string][]*tool.Tool // all of them, without case and separators

	reserved map[string]bool // the folded names of tools that are not a server's
}

// serverPrefix begins the namespace of every upstream server.
const serverPrefix = "mcp_"

func isServers(t *tool.Tool) bool { return strings.HasPrefix(t.ID.Namespace, serverPrefix) }

// Reserved reports whether a name, in any spelling, is that of a tool which is not
// an upstream server's. No tool of a server answers to it: a call that is meant for
// the kernel must not reach a server, not even when the kernel's tool is denied or
// off.
func (v *View) Reserved(name string) bool { return v.names().reserved[fold(name)] }

func indexNames(v *View) *nameIndex {
	n := &nameIndex{
		wire:   make(map[string]*tool.Tool, len(v.byName)),
		given:  make(map[string][]*tool.Tool),
		action: make(map[string][]*tool.Tool, len(v.byName)),
		folded: make(map[string][]*tool.Tool, len(v.byName)),

		reserved: make(map[string]bool),
	}
	dotted := make([]string, 0, len(v.byName))
	ofModules := make(map[string]bool) // actions
	for t := range v.All() {
		dotted = append(dotted, t.ID.Dotted())
		if !isServers(t) && !t.Runtime.Unlisted() {
			ofModules[t.ID.Name] = ofModules[t.ID.Name] || !t.Runtime.Control
			for _, form := range append(givenNames(t), t.ID.Dotted(), t.ID.Name) {
				n.reserved[fold(form)] = true
			}
		}
	}
	table := tool.NewWireTable(dotted)
	for t := range v.All() {
		name := t.ID.Dotted()
		wire, _ := table.Wire(name)
		n.wire[wire] = t
		if t.Runtime.Unlisted() {
			for _, given := range givenNames(t) {
				n.give(given, t)
			}
			continue
		}
		bare := !t.Runtime.Control || !ofModules[t.ID.Name]
		if t.Runtime.Control && bare {
			n.wire[t.ID.Name] = t // not the wire name of another tool: those have two parts
		}
		n.add(t, bare)
	}
	return n
}

// give lets a tool answer to a short name or an alias, once: it may have it as both.
func (n *nameIndex) give(name string, t *tool.Tool) {
	if !slices.Contains(n.given[name], t) {
		n.given[name] = append(n.given[name], t)
	}
}

// add indexes a tool by the names that it may answer to beside the exact ones; bare: by
// its action too.
func (n *nameIndex) add(t *tool.Tool, bare bool) {
	closed := func(form string) bool { return isServers(t) && n.reserved[fold(form)] }
	forms := []string{t.ID.Dotted()}
	if bare && !closed(t.ID.Name) {
		n.action[t.ID.Name] = append(n.action[t.ID.Name], t)
		forms = append(forms, t.ID.Name)
	}
	for _, given := range givenNames(t) {
		if !closed(given) {
			n.give(given, t)
			forms = append(forms, given)
		}
	}
	for _, form := range forms {
		key := fold(form)
		if !closed(form) && !slices.Contains(n.folded[key], t) {
			n.folded[key] = append(n.folded[key], t)
		}
	}
}

// givenNames are a tool's short name, and its aliases in the form of a name.
func givenNames(t *tool.Tool) []string {
	var all []string
	for _, given := range append([]string{t.Spec.Short}, t.Spec.Aliases...) {
		if given != "" && !strings.ContainsAny(given, " \t\n") {
			all = append(all, given)
		}
	}
	return all
}

// fold removes case and separators, which models write in many ways.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '.', ':', '_', '-', ' ', '/':
			return -1
		}
		return r
	}, strings.ToLower(name))
}

func filter(tools []*tool.Tool, visible VisibleFunc) []*tool.Tool {
	var known []*tool.Tool
	for _, t := range tools {
		if visible == nil || visible(t) {
			known = append(known, t)
		}
	}
	return known
}

func dottedNames(tools []*tool.Tool) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.ID.Dotted()
	}
	slices.Sort(names)
	return slices.Compact(names)
}

const (
	maxListed = 10
	maxNear   = 3 // names that are suggested in the place of an unknown one
)

func ambiguous(name string, known []*tool.Tool) error {
	names := dottedNames(known)
	err := tool.Errorf("registry.Resolve", tool.Ambiguous, "%q could mean %s", tool.Truncate(name), phraseList(names)).
		WithHint("call it by one of these full names")
	err.Similar = names[:min(len(names), maxListed)]
	return err
}

// UnknownError is the answer to a name that means no visible tool: the nearest
// names, or the tools of the module it names, or where to look.
func (v *View) UnknownError(name string, visible VisibleFunc) error {
	err := tool.Errorf("registry.Resolve", tool.NotFound, "there is no tool %q", tool.Truncate(name))
	suggest := func(near []string) error {
		err.Similar = near
		return err.WithHint("did you mean %s?", phraseList(near))
	}
	if near := v.nearest(name, visible); len(near) > 0 {
		return suggest(near)
	}
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		if same := dottedNames(filter(v.Find(Filter{Namespace: name[:i]}), visible)); len(same) > 0 {
			err.Similar = same[:min(len(same), maxListed)]
			return err.WithHint("%s has %s", name[:i], phraseList(same))
		}
	}
	if near := v.byWords(name, visible); len(near) > 0 {
		return suggest(near)
	}
	return err.WithHint("call one of the tools there are; search_tools finds them by what they do")
}

// nearest returns the dotted names of the visible tools one of whose names is within a
// few typing errors of name, nearest first.
func (v *View) nearest(name string, visible VisibleFunc) []string {
	type near struct {
		name string
		off  int
	}
	want := fold(name)
	allowed := nearest.Allowed(len(want))
	var found []near
	for t := range v.All() {
		if t.Runtime.Unlisted() && !strings.HasPrefix(name, t.ID.Namespace+".") {
			continue
		}
		best := allowed + 1
		for _, form := range append(givenNames(t), t.ID.Dotted(), t.ID.Name) {
			best = min(best, nearest.Distance(want, fold(form), best))
		}
		if best <= allowed && (visible == nil || visible(t)) {
			found = append(found, near{t.ID.Dotted(), best})
		}
	}
	slices.SortFunc(found, func(a, b near) int { return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.name, b.name)) })
	names := make([]string, 0, maxNear)
	for _, n := range found[:min(len(found), maxNear)] {
		if n.off <= found[0].off+1 { // a far name beside a near one only distracts
			names = append(names, n.name)
		}
	}
	return names
}

// phraseList writes names as a phrase: "a, b or c".
func phraseList(names []string) string {
	more := ""
	if len(names) > maxListed {
		more = fmt.Sprintf(" and %d more", len(names)-maxListed)
		names = names[:maxListed]
	}
	if last := len(names) - 1; last > 0 && more == "" {
		return strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return strings.Join(names, ", ") + more
}
