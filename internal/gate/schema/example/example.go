// Package example builds a minimal value that is valid under a compiled schema,
// for a model to imitate.
//
// The law: an example holds the required properties and no others, and every value
// in it is valid under its schema: the validator decides, not the builder. The
// work is bounded; if it finds nothing, there is no example.
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

// The limits of building one example.
const (
	maxBuilt  = 2000 // subschemas visited
	maxDepth  = 12   // a schema may require itself without end
	maxItems  = 16
	maxText   = 1000
	maxDigits = 1000
)

// builder builds values.
type builder struct {
	trial *limits.TrialRun
	left  int                  // how many more subschemas it may visit
	open  []*jsonschema.Schema // the schemas being built, the outermost first
}

// Build returns an example of root, or nil if none was found. Every value it tries
// on the way is validated within trial.
func Build(root *jsonschema.Schema, trial *limits.TrialRun) (out json.RawMessage) {
	defer func() {
		if recover() != nil {
			out = nil // an error without an example is still useful
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

// build builds a value for s, the schema of a property called name. Values that
// the schema shows itself (const, enum, default, examples) come first.
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
			all := slices.Concat(layers, walk.Reachable(alternative, walk.Unconditional))
			if v, ok := b.compose(s, all, name, depth); ok {
				return v, true
			}
			if v, ok := b.build(alternative, name, depth+1); ok && b.fits(s, v) {
				return v, true
			}
		}
	}
	return b.compose(s, layers, name, depth)
}

// shownBy lists the values that a schema shows itself.
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

// alternativesOf lists the branches of the anyOf and oneOf of the layers; a branch
// that accepts only null comes last.
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

// compose builds a value that satisfies several layers together.
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

// typesOf lists the types that all layers accept, the most informative first. If no
// layer names a type, the other keywords decide.
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
		case s.Minimum != nil || s.Maximum != nil ||
			s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil || s.MultipleOf != nil:
			guess = append(guess, "integer", "number")
		}
	}
	if named {
		return types
	}
	return append(guess, types[2:]...)
}

// object builds an object with the required properties and no others. If a property
// is required only under a condition, the validator reports it as missing.
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

// property adds a property to object that all its schemas accept.
func (b *builder) property(
	object map[string]any, s *jsonschema.Schema, layers []*jsonschema.Schema, name string, depth int,
) bool {
	var schemas []*jsonschema.Schema
	for _, layer := range layers {
		schemas = append(schemas, walk.ForProperty(layer, name)...)
	}
	if len(schemas) == 0 {
		schemas = walk.Locate(s, object, []string{name})
	}
	if len(schemas) == 0 {
		object[name] = filled(name)
		return true
	}
	for _, sub := range schemas {
		v, ok := b.build(sub, name, depth+1)
		if ok && !slices.ContainsFunc(schemas, func(other *jsonschema.Schema) bool { return !b.fits(other, v) }) {
			object[name] = v
			return true
		}
	}
	return false
}

// stillMissing lists the properties that the validator reports as missing in object.
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

// list builds a list of as few items as required, but of one rather than none if
// the schema of the items is known: an empty list shows nothing. An item of a
// schema that is being built already would show nothing new.
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
			schemas := itemSchemas(layers, i)
			if least == 0 && slices.ContainsFunc(schemas, b.building) {
				continue
			}
			if len(schemas) == 0 && least > 0 {
				schemas = []*jsonschema.Schema{{}}
			}
			for _, sub := range schemas {
				if v, ok := b.build(sub, strings.TrimSuffix(name, "s"), depth+1); ok {
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

// itemSchemas lists the schemas of one item of a list.
func itemSchemas(layers []*jsonschema.Schema, i int) []*jsonschema.Schema {
	var schemas []*jsonschema.Schema
	for _, layer := range layers {
		if i == 0 && layer.Contains != nil {
			schemas = append(schemas, layer.Contains)
		}
		schemas = append(schemas, walk.ForItem(layer, i)...)
	}
	return schemas
}

// building reports whether s leads back to a schema that is being built.
func (b *builder) building(s *jsonschema.Schema) bool {
	isOpen := func(sub *jsonschema.Schema) bool { return slices.Contains(b.open, sub) }
	return slices.ContainsFunc(walk.Reachable(s, walk.Unconditional), isOpen)
}
