// Package walk traverses compiled schemas and decoded values: which subschemas
// apply to a value, which to its properties and items, and which value lies at a
// path.
//
// The law: a walk ends, however schemas refer to each other, and visits in the
// same order every time. Otherwise texts about a schema would differ from call to
// call, since a schema keeps its properties in maps.
package walk

import (
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// subschemaHolder is an extension keyword that holds a subschema.
type subschemaHolder interface{ Subschema() *jsonschema.Schema }

// SameValue returns the subschemas of s that apply to the same value as s.
// Conditions (if, not) are left out: they demand nothing of the value.
func SameValue(s *jsonschema.Schema) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	for _, ref := range []*jsonschema.Schema{s.Ref, s.RecursiveRef} {
		if ref != nil {
			out = append(out, ref)
		}
	}
	if s.DynamicRef != nil {
		out = append(out, s.DynamicRef.Ref)
	}
	out = slices.Concat(out, s.AllOf, s.AnyOf, s.OneOf)
	for _, sub := range []*jsonschema.Schema{s.Then, s.Else} {
		if sub != nil {
			out = append(out, sub)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.DependentSchemas)) {
		out = append(out, s.DependentSchemas[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		if sub, ok := s.Dependencies[name].(*jsonschema.Schema); ok {
			out = append(out, sub)
		}
	}
	return out
}

// Unconditional returns the subschemas that the same value must always satisfy.
func Unconditional(s *jsonschema.Schema) []*jsonschema.Schema {
	if s.Ref == nil {
		return s.AllOf
	}
	return append([]*jsonschema.Schema{s.Ref}, s.AllOf...)
}

// ForProperty returns the subschemas that s itself applies to a property.
func ForProperty(s *jsonschema.Schema, name string) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	if sub := s.Properties[name]; sub != nil {
		out = append(out, sub)
	}
	for _, re := range sortedPatterns(s) {
		if re.MatchString(name) {
			out = append(out, s.PatternProperties[re])
		}
	}
	if len(out) > 0 {
		return out
	}
	if rest, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		return append(out, rest)
	}
	if s.UnevaluatedProperties != nil && s.UnevaluatedProperties.Bool == nil {
		out = append(out, s.UnevaluatedProperties)
	}
	return out
}

// ForItem returns the subschemas that s itself applies to an item of a list.
func ForItem(s *jsonschema.Schema, i int) []*jsonschema.Schema {
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{items}
	case []*jsonschema.Schema:
		if i < len(items) {
			return items[i : i+1]
		}
		if rest, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
			return []*jsonschema.Schema{rest}
		}
	}
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i : i+1]
	}
	for _, rest := range []*jsonschema.Schema{s.Items2020, s.UnevaluatedItems} {
		if rest != nil {
			return []*jsonschema.Schema{rest}
		}
	}
	return nil
}

func sortedPatterns(s *jsonschema.Schema) []jsonschema.Regexp {
	if len(s.PatternProperties) == 0 {
		return nil
	}
	return slices.SortedFunc(maps.Keys(s.PatternProperties), func(a, b jsonschema.Regexp) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
}

// Children returns every subschema directly under s.
func Children(s *jsonschema.Schema) []*jsonschema.Schema {
	out := SameValue(s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		out = append(out, s.Properties[name])
	}
	for _, re := range sortedPatterns(s) {
		out = append(out, s.PatternProperties[re])
	}
	for _, either := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch sub := either.(type) {
		case *jsonschema.Schema:
			out = append(out, sub)
		case []*jsonschema.Schema:
			out = append(out, sub...)
		}
	}
	out = append(out, s.PrefixItems...)
	for _, sub := range []*jsonschema.Schema{
		s.If, s.Not, s.PropertyNames, s.UnevaluatedProperties, s.Items2020, s.Contains, s.UnevaluatedItems,
	} {
		if sub != nil {
			out = append(out, sub)
		}
	}
	for _, ext := range s.Extensions {
		if h, ok := ext.(subschemaHolder); ok {
			out = append(out, h.Subschema())
		}
	}
	return out
}

// Reachable returns root and every schema reachable from it through next, each once.
func Reachable(root *jsonschema.Schema, next func(*jsonschema.Schema) []*jsonschema.Schema) []*jsonschema.Schema {
	seen := map[*jsonschema.Schema]bool{root: true}
	out := []*jsonschema.Schema{root}
	for i := 0; i < len(out); i++ {
		for _, sub := range next(out[i]) {
			if !seen[sub] {
				seen[sub] = true
				out = append(out, sub)
			}
		}
	}
	return out
}

// maxLocated limits the schemas that Locate returns.
const maxLocated = 64

// Locate returns the schemas that may apply to the value at path within doc. The
// value need not exist: a missing property has schemas too.
func Locate(root *jsonschema.Schema, doc any, path []string) []*jsonschema.Schema {
	here := Reachable(root, SameValue)
	for _, token := range path {
		var next []*jsonschema.Schema
		for _, s := range here {
			if _, isList := doc.([]any); isList {
				i, _ := strconv.Atoi(token)
				next = append(next, ForItem(s, i)...)
			} else {
				next = append(next, ForProperty(s, token)...)
			}
		}
		here = expand(next)
		doc, _ = Child(doc, token)
	}
	return here
}

// expand returns the schemas and all that apply to the same value through them,
// each once and at most maxLocated.
func expand(schemas []*jsonschema.Schema) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	for _, s := range schemas {
		if len(out) == maxLocated {
			break
		}
		if slices.Contains(out, s) {
			continue // everything reachable from it is in out already
		}
		for _, sub := range Reachable(s, SameValue) {
			if len(out) < maxLocated && !slices.Contains(out, sub) {
				out = append(out, sub)
			}
		}
	}
	return out
}
