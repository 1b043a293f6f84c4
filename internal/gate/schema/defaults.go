package schema

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/gate/schema/limits"
	"callgate/internal/gate/schema/walk"
)

const (
	maxFillRounds = 16     // defaults inside defaults
	maxFilled     = 10_000 // the most weight that one value may be given
	weightBytes   = 100    // a default weighs 1 more for each of these
)

// defaults holds, for each subschema under which a default can apply, the values
// to fill in. It is computed when the schema is compiled; a subschema without an
// entry has no defaults.
//
// A default applies to an absent property. It stands on the property's schema or
// behind its $ref and allOf. Defaults are filled in below properties and items
// that are present, through $ref and allOf, and through the first alternative of
// an anyOf or oneOf that accepts the value. A default that its own schema refuses
// is ignored.
type defaults map[*jsonschema.Schema]*plan

type plan struct {
	missing []defaultValue
	within  []*jsonschema.Schema   // schemas of the same value whose properties or items follow
	choices [][]*jsonschema.Schema // alternatives, of which one may follow
}

type defaultValue struct {
	name   string
	value  any
	schema *jsonschema.Schema
	weight int // at least 1
}

func planDefaults(root *jsonschema.Schema, trial *limits.TrialRun) defaults {
	all := walk.Reachable(root, walk.Children)
	if !slices.ContainsFunc(all, func(s *jsonschema.Schema) bool { return s.Default != nil }) {
		return nil
	}
	d := defaults{}
	for _, s := range all {
		d[s] = planOf(s)
	}
	d.dropBad(all, trial)
	d.prune()
	if d[root] == nil {
		return nil
	}
	return d
}

func planOf(s *jsonschema.Schema) *plan {
	p := &plan{}
	filled := map[string]bool{}
	for _, sub := range walk.Reachable(s, walk.Unconditional) {
		p.within = append(p.within, sub)
		for _, choices := range [][]*jsonschema.Schema{sub.AnyOf, sub.OneOf} {
			if len(choices) > 0 {
				p.choices = append(p.choices, choices)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(sub.Properties)) {
			if filled[name] {
				continue
			}
			for _, of := range walk.Reachable(sub.Properties[name], walk.Unconditional) {
				if of.Default != nil {
					filled[name] = true
					value := defaultValue{name, *of.Default, sub.Properties[name], weightOf(*of.Default)}
					p.missing = append(p.missing, value)
					break
				}
			}
		}
	}
	return p
}

func weightOf(value any) int {
	text, err := limits.Encode(value)
	if err != nil {
		return maxFilled + 1
	}
	return 1 + len(text)/weightBytes
}

// dropBad removes the defaults that their own schemas refuse. A default that is
// valid as written stays; another gets a second chance with the defaults inside
// it filled in. They are tried in the order of all, so that a trial that runs out
// of budget always does so at the same default.
func (d defaults) dropBad(all []*jsonschema.Schema, trial *limits.TrialRun) {
	doubtful := map[*plan][]defaultValue{}
	for _, s := range all {
		p := d[s]
		var good []defaultValue
		for _, g := range p.missing {
			if trial.Validate(g.schema, g.value) == nil {
				good = append(good, g)
			} else {
				doubtful[p] = append(doubtful[p], g)
			}
		}
		p.missing = good
	}
	saved := map[*plan][]defaultValue{}
	for _, s := range all {
		for _, g := range doubtful[d[s]] {
			value := walk.Clone(g.value)
			bearable := func(int) bool { return trial.Allows(g.schema, value) == nil }
			if !bearable(0) {
				continue
			}
			if _, ok := d.fill(g.schema, value, bearable); ok && trial.Validate(g.schema, value) == nil {
				saved[d[s]] = append(saved[d[s]], g)
			}
		}
	}
	for p, values := range saved {
		p.missing = append(p.missing, values...)
	}
}

// prune drops the plans that lead to no default, so that fill visits only
// subschemas with something to fill in.
func (d defaults) prune() {
	leadsTo := map[*jsonschema.Schema][]*jsonschema.Schema{}
	useful := map[*jsonschema.Schema]bool{}
	var queue []*jsonschema.Schema
	for s, p := range d {
		if len(p.missing) > 0 {
			useful[s] = true
			queue = append(queue, s)
		}
		for _, sub := range p.within {
			for _, part := range walk.Children(sub) {
				leadsTo[part] = append(leadsTo[part], s)
			}
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, s := range leadsTo[queue[0]] {
			if !useful[s] {
				useful[s] = true
				queue = append(queue, s)
			}
		}
	}
	for s := range d {
		if !useful[s] {
			delete(d, s)
		}
	}
}

// fill adds the defaults that value lacks until there is nothing to add. It
// returns the weight it added. It reports false if the defaults never end or value
// is not bearable with them; value is then unusable.
func (d defaults) fill(root *jsonschema.Schema, value any, bearable func(added int) bool) (added int, ok bool) {
	for range maxFillRounds {
		before := added
		d.pass(root, value, &added, nil)
		if added == before {
			return added, true
		}
		if added > maxFilled || !bearable(added) {
			break
		}
	}
	return added, false
}

// fillIn adds the defaults that value lacks; size is the length of its text.
func (s *Schema) fillIn(value any, size int) (added int, ok bool) {
	return s.defaults.fill(s.root, value, func(added int) bool {
		return s.budget.Allows(value, size+added*weightBytes) == nil
	})
}

// pass adds the defaults of s to value and its parts. chosen holds the
// alternatives that led to s on this same value, since one may lead back to
// itself.
func (d defaults) pass(s *jsonschema.Schema, value any, added *int, chosen []*jsonschema.Schema) {
	p := d[s]
	if p == nil || *added > maxFilled {
		return
	}
	for _, choices := range p.choices {
		for _, sub := range choices {
			if d[sub] != nil && !slices.Contains(chosen, sub) && sub.Validate(value) == nil {
				d.pass(sub, value, added, append(chosen, sub))
				break
			}
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			if walk.IsContainer(v) {
				for _, s := range p.within {
					d.each(walk.ForProperty(s, name), v, added)
				}
			}
		}
		for _, g := range p.missing {
			if _, present := value[g.name]; !present {
				value[g.name] = walk.Clone(g.value)
				*added += g.weight
			}
		}
	case []any:
		for i, v := range value {
			if walk.IsContainer(v) {
				for _, s := range p.within {
					d.each(walk.ForItem(s, i), v, added)
				}
			}
		}
	}
}

func (d defaults) each(schemas []*jsonschema.Schema, value any, added *int) {
	for _, s := range schemas {
		d.pass(s, value, added, nil)
	}
}
