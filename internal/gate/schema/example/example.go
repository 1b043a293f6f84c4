// Package example builds a minimal value that is valid under a compiled schema,
// for a model to imitate.
//
// The law: what is required and nothing else, and every value valid under the
// schema it was built for: the validator is asked, never second-guessed. The
// work is bounded, and where it leads to nothing there is no example.
package example

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/gate/schema/diagnose"
	"callgate/internal/gate/schema/limits"
	"callgate/internal/gate/schema/walk"
)

// What building one example may cost.
const (
	maxBuilt  = 2000 // subschemas looked at
	maxDepth  = 12   // a schema may require itself for ever
	maxItems  = 16
	maxText   = 1000
	maxDigits = 1000
)

// builder makes up values.
type builder struct {
	trial *limits.TrialRun
	left  int
	open  []*jsonschema.Schema // what is being built, the outermost first
}

// Build returns an example of root, or nil when none was found. What it makes
// up on the way is held against the schema in trial.
func Build(root *jsonschema.Schema, trial *limits.TrialRun) (out json.RawMessage) {
	defer func() {
		if recover() != nil {
			out = nil // an example is a courtesy
		}
	}()
	b := &builder{trial: trial, left: maxBuilt}
	value, ok := b.build(root, "value", 0)
	if !ok {
		return nil
	}
	out, err := limits.Encode(value)
	if err != nil {
		return nil
	}
	return out
}

func (b *builder) fits(s *jsonschema.Schema, value any) bool {
	return b.trial.Validate(s, value) == nil
}

// build makes a value for s, which stands in a property called name. It takes
// what the schema itself shows (const, enum, default, examples) before making
// anything up.
func (b *builder) build(s *jsonschema.Schema, name string, depth int) (any, bool) {
	if b.left--; b.left < 0 || depth > maxDepth {
		return nil, false
	}
	b.open = append(b.open, s)
	defer func() { b.open = b.open[:len(b.open)-1] }()
	layers := walk.Reachable(s, walk.Unconditional)
	for _, layer := range layers {
		for _, shown := range shownBy(layer) {
			if b.fits(s, shown) {
				return walk.Clone(shown), true
			}
		}
	}
	if alternatives := alternativesOf(layers); len(alternatives) > 0 {
		for _, alternative := range alternatives {
			if v, ok := b.compose(s, slices.Concat(layers, walk.Reachable(alternative, walk.Unconditional)), name, depth); ok {
				return v, true
			}
			if v, ok := b.build(alternative, name, depth+1); ok && b.fits(s, v) {
				return v, true
			}
		}
	}
	return b.compose(s, layers, name, depth)
}

// shownBy lists the values that a schema shows of itself.
func shownBy(s *jsonschema.Schema) []any {
	const most = 8
	var out []any
	if s.Const != nil {
		out = append(out, *s.Const)
	}
	if s.Enum != nil {
		out = append(out, s.Enum.Values[:min(most, len(s.Enum.Values))]...)
	}
	if s.Default != nil {
		out = append(out, *s.Default)
	}
	return append(out, s.Examples[:min(most, len(s.Examples))]...)
}

// alternativesOf lists the branches of the anyOf and oneOf of some layers,
// those that are merely null last.
func alternativesOf(layers []*jsonschema.Schema) []*jsonschema.Schema {
	const most = 8
	var out, nulls []*jsonschema.Schema
	for _, layer := range layers {
		for _, sub := range slices.Concat(layer.AnyOf, layer.OneOf) {
			if sub.Types != nil && slices.Equal(sub.Types.ToStrings(), []string{"null"}) {
				nulls = append(nulls, sub)
			} else if len(out) < most {
				out = append(out, sub)
			}
		}
	}
	return append(out, nulls[:min(1, len(nulls))]...)
}

// compose makes a value out of what several layers ask of it together.
func (b *builder) compose(s *jsonschema.Schema, layers []*jsonschema.Schema, name string, depth int) (any, bool) {
	for _, t := range typesOf(layers) {
		switch t {
		case "object":
			if v, ok := b.object(s, layers, depth); ok {
				return v, true
			}
		case "array":
			if v, ok := b.list(s, layers, name, depth); ok {
				return v, true
			}
		default:
			for _, v := range plainValues(t, layers, name) {
				if b.fits(s, v) {
					return v, true
				}
			}
		}
	}
	return nil, false
}

// typesOf lists the types that all layers take, the most telling first. Where
// none is named, the other keywords tell.
func typesOf(layers []*jsonschema.Schema) []string {
	types := []string{"object", "array", "string", "integer", "number", "boolean", "null"}
	named := false
	var guess []string
	for _, s := range layers {
		if s.Types != nil {
			named = true
			want := s.Types.ToStrings()
			types = slices.DeleteFunc(types, func(t string) bool {
				return !slices.Contains(want, t) && !(t == "integer" && slices.Contains(want, "number"))
			})
		}
		switch {
		case s.Properties != nil || s.Required != nil || s.MinProperties != nil:
			guess = append(guess, "object")
		case s.Items != nil || s.Items2020 != nil || s.PrefixItems != nil || s.MinItems != nil || s.Contains != nil:
			guess = append(guess, "array")
		case s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil || s.MultipleOf != nil:
			guess = append(guess, "integer", "number")
		}
	}
	if named {
		return types
	}
	return append(guess, types[2:]...)
}

// object makes an object with what is required and nothing else. What is
// required only under a condition the validator names when it is missing.
func (b *builder) object(s *jsonschema.Schema, layers []*jsonschema.Schema, depth int) (any, bool) {
	object := map[string]any{}
	var names []string
	for _, layer := range layers {
		names = append(names, layer.Required...)
	}
	for range 4 {
		for _, name := range names {
			if _, ok := object[name]; !ok && !b.property(object, s, layers, name, depth) {
				return nil, false
			}
		}
		if b.fits(s, object) {
			return object, true
		}
		names = b.stillMissing(s, object)
	}
	return nil, false
}

// property gives object one property that all who judge it accept.
func (b *builder) property(object map[string]any, s *jsonschema.Schema, layers []*jsonschema.Schema, name string, depth int) bool {
	var judges []*jsonschema.Schema
	for _, layer := range layers {
		judges = append(judges, walk.ForProperty(layer, name)...)
	}
	if len(judges) == 0 {
		judges = walk.Locate(s, object, []string{name})
	}
	if len(judges) == 0 {
		object[name] = placeholder(name)
		return true
	}
	for _, judge := range judges {
		v, ok := b.build(judge, name, depth+1)
		if ok && !slices.ContainsFunc(judges, func(other *jsonschema.Schema) bool { return !b.fits(other, v) }) {
			object[name] = v
			return true
		}
	}
	return false
}

// stillMissing lists the properties that the validator misses in object.
func (b *builder) stillMissing(s *jsonschema.Schema, object map[string]any) []string {
	var wrong *jsonschema.ValidationError
	if !errors.As(b.trial.Validate(s, object), &wrong) {
		return nil
	}
	var names []string
	for _, f := range diagnose.List(wrong) {
		if len(f.At) == 0 {
			names = append(names, f.Missing()...)
		}
	}
	return names
}

// list makes a list of as few items as are asked for, but of one rather than
// none where the items are known: an empty list shows nothing. An item like
// what is being built already would show nothing new.
func (b *builder) list(s *jsonschema.Schema, layers []*jsonschema.Schema, name string, depth int) (any, bool) {
	least := 0
	for _, layer := range layers {
		if layer.MinItems != nil {
			least = max(least, *layer.MinItems)
		}
	}
	for _, n := range []int{max(1, least), least} {
		list := []any{}
		for i := range min(n, maxItems) {
			judges := judgesOf(layers, i)
			if least == 0 && slices.ContainsFunc(judges, b.building) {
				continue
			}
			if len(judges) == 0 && least > 0 {
				judges = []*jsonschema.Schema{{}}
			}
			for _, judge := range judges {
				if v, ok := b.build(judge, strings.TrimSuffix(name, "s"), depth+1); ok {
					list = append(list, v)
					break
				}
			}
		}
		if b.fits(s, list) {
			return list, true
		}
	}
	return nil, false
}

// judgesOf lists what is asked of one item of a list.
func judgesOf(layers []*jsonschema.Schema, i int) []*jsonschema.Schema {
	var judges []*jsonschema.Schema
	for _, layer := range layers {
		if i == 0 && layer.Contains != nil {
			judges = append(judges, layer.Contains)
		}
		judges = append(judges, walk.ForItem(layer, i)...)
	}
	return judges
}

// building reports whether s leads back to what is being built.
func (b *builder) building(s *jsonschema.Schema) bool {
	return slices.ContainsFunc(walk.Reachable(s, walk.Unconditional), func(sub *jsonschema.Schema) bool { return slices.Contains(b.open, sub) })
}
