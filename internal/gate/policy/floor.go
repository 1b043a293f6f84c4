package policy

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"callgate/tool"
)

// Grant is a part of rules that lets calls run without a human: an action that a
// grant names, or default_policy auto, which has neither module nor action.
type Grant struct {
	Module, Action string // as the app file writes them; either may be "*"
	Text           string // what it lets run, for a human who decides
	// Except is what other rules take out of it, in the same words. Without one of
	// those it would let more run.
	Except []string
}

const (
	ruleFloor   = "kernel.consent"
	reasonFloor = "the app file lets %s run without asking, but nobody has accepted that yet (callgate app trust), " +
		"so a human must approve this call first"
)

// place is where a grant or a rule stands. match is for a rule about some arguments:
// which those are.
type place struct{ module, action, match string }

var auto = place{} // the place of default_policy auto

// Floor returns the rules with only those of their grants that were accepted. A
// call that another grant lets run needs approval, unless it would run without any
// rules. All that narrows stays. With everything accepted the rules are unchanged.
func (r *Rules) Floor(accepted func(Grant) bool) *Rules {
	if r == nil {
		return nil
	}
	floored := *r
	floored.pending = nil
	for at := range r.grants() {
		if !accepted(r.grantAt(at)) {
			if floored.pending == nil {
				floored.pending = map[place]bool{}
			}
			floored.pending[at] = true
		}
	}
	return &floored
}

// Wider returns the grants by which the rules let more run than an app without
// rules may, as far as the tools are known. A grant that names none of them counts:
// its tools may come later.
func (r *Rules) Wider(known []*tool.Tool) []Grant {
	var wider []Grant
	for at := range r.grants() {
		if r.widens(at, known) {
			wider = append(wider, r.grantAt(at))
		}
	}
	return wider
}

func (r *Rules) widens(at place, known []*tool.Tool) bool {
	open := at == auto || at.module == wild // for tools that nobody knows yet
	named := false
	for _, t := range known {
		if at != auto && !at.overlaps(placesOf(t.ID)[0]) {
			continue
		}
		named = true
		verdict := Decide(r, t, tool.Principal{}).Verdict
		runs := verdict == Allow || at.match != "" && verdict == Approve // it may, with these arguments
		if runs && (Decide(nil, t, tool.Principal{}).Verdict != Allow || namesFiles(t) || at.match != "" && readsFiles(t)) {
			return true
		}
	}
	if named && !open {
		return false
	}
	for other := range r.places(denied, approved, hiddenRule) {
		if other.covers(at) {
			return false
		}
	}
	return at != auto || r.ceiling > tool.Low.Level()
}

// namesFiles reports whether a tool changes files that its arguments name. Without rules it
// asks about some of them: those that programs run by themselves.
func namesFiles(t *tool.Tool) bool {
	return slices.ContainsFunc(t.Runtime.Effects, func(e tool.Effect) bool {
		return strings.HasPrefix(e.Resource, "file:{") && e.Mode.Writes()
	})
}

// readsFiles reports whether a tool reads files that its arguments name. Without rules it
// asks about those that are named like secrets; a grant for some files may be about these.
func readsFiles(t *tool.Tool) bool {
	return slices.ContainsFunc(t.Runtime.Effects, func(e tool.Effect) bool {
		return strings.HasPrefix(e.Resource, "file:{") && !e.Mode.Writes()
	})
}

// grants are the places of all grants, in order.
func (r *Rules) grants() iter.Seq[place] {
	return func(yield func(place) bool) {
		if r == nil || r.block && r.fallback == Auto && !yield(auto) {
			return
		}
		for at := range r.places(granted) {
			if !yield(at) {
				return
			}
		}
	}
}

// places are where rules of some kinds stand, in order.
func (r *Rules) places(kinds ...int) iter.Seq[place] {
	var all []place
	add := func(module, action string, c *rule) {
		if slices.ContainsFunc(kinds, func(kind int) bool { return c.sources[kind] != nil }) {
			all = append(all, place{module: module, action: action})
		}
		for _, m := range c.matched {
			at := place{module, action, m.pattern.String()}
			if slices.Contains(kinds, m.kind) && !slices.Contains(all, at) {
				all = append(all, at)
			}
		}
	}
	for _, name := range append([]string{wild}, slices.Sorted(maps.Keys(r.modules))...) {
		m := &r.every
		if name != wild {
			m = r.modules[name]
		}
		add(name, wild, &m.all)
		for _, action := range slices.Sorted(maps.Keys(m.actions)) {
			add(name, action, m.actions[action])
		}
	}
	return slices.Values(all)
}

// grantAt describes a grant.
func (r *Rules) grantAt(at place) Grant {
	text := at.String()
	if at == auto {
		text = fmt.Sprintf("every tool of at most %s risk that no rule names", riskName(r.ceiling))
	}
	var except []string
	for other := range r.places(denied, approved, hiddenRule) {
		if at == auto || other.overlaps(at) {
			except = append(except, other.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.modules)) {
		named := place{module: name, action: wild}
		if m := r.modules[name]; m.allowed != nil && (at == auto || at.overlaps(named)) {
			only := strings.Join(slices.Sorted(maps.Keys(m.allowed)), " and ")
			except = append(except, "all of "+name+" but "+only)
		}
	}
	return Grant{at.module, at.action, text, except}
}

// String names what stands at a place.
func (at place) String() string {
	if at.match != "" {
		return place{module: at.module, action: at.action}.String() + " with " + at.match
	}
	switch {
	case at.module == wild && at.action == wild:
		return "every tool"
	case at.module == wild:
		return "every tool that is named " + at.action
	case at.action == wild:
		return "every tool of " + at.module
	}
	return at.module + "." + at.action
}

// covers reports whether every tool that the other place names is named here too,
// with any arguments.
func (at place) covers(other place) bool {
	return at.match == "" && (at.module == wild || at.module == other.module) &&
		(at.action == wild || at.action == other.action)
}

// overlaps reports whether a tool may be named at both places.
func (at place) overlaps(other place) bool {
	return (at.module == wild || other.module == wild || at.module == other.module) &&
		(at.action == wild || other.action == wild || at.action == other.action)
}

// accepted reports whether one of the grants that name a tool was accepted.
func (r *Rules) accepted(id tool.ID, found *matches) bool {
	if r.pending == nil {
		return true
	}
	for i, at := range placesOf(id) {
		if c := found.rules[i]; c != nil && c.sources[granted] != nil && !r.pending[at] {
			return true
		}
	}
	return found.fitting[granted] != nil && !found.unaccepted
}

// placesOf are the places whose rules name a tool, in the order of [matches].
func placesOf(id tool.ID) [4]place {
	module := moduleKey(id.Namespace)
	return [4]place{
		{module: module, action: id.Name}, {module: module, action: wild},
		{module: wild, action: id.Name}, {module: wild, action: wild},
	}
}

// decideAtFloor decides a tool that only a grant that nobody accepted lets run. What
// the user's own file denies by default, or asks about, stays so.
func decideAtFloor(sets []ruleSet, t *tool.Tool, granted Decision) Decision {
	if len(sets) > 0 && sets[0].isUser {
		if d := decideUnnamed(sets[:1], t); d.Verdict != Allow && d.Rule != ruleNoBlock {
			return d
		}
	}
	if t.Runtime.Control {
		return granted
	}
	switch d := decideWithoutRules(t, decidedCall(sets)); {
	case d.Verdict == Allow && namesFiles(t), d.isBy(ruleSecret):
		return d // some of them ask
	case d.Verdict == Allow:
		return granted
	}
	return Decision{Approve, fmt.Sprintf(reasonFloor, t.ID.Dotted()), ruleFloor}
}
