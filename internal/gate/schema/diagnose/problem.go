// Package diagnose says what is wrong with a value: it makes a list of the
// validator's tree of complaints, and words of the list.
//
// The law: one value under one schema has one list, in the order in which a
// reader would meet the places, though the validator complains in the random
// order of its maps. Where alternatives failed, only those that came closest
// speak.
package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Problem is one thing that is wrong with a value.
type Problem struct {
	At   []string // where
	Kind any      // the validator's kind of complaint, or a *Choice

	schema string // the location of the subschema that complains
	causes []*jsonschema.ValidationError
}

// maxChoice bounds the values that a choice puts together.
const maxChoice = 1000

// Alternatives is the complaint of an anyOf or oneOf of which every alternative
// refuses the value for what it is: together they take these types and these
// values.
type Alternatives struct {
	Types  []string
	Values []any
}

// Validate validates value and returns what is wrong with it; nothing, when it is
// valid.
func Validate(s *jsonschema.Schema, value any) []Problem {
	err := s.Validate(value)
	if err == nil {
		return nil
	}
	return List(err.(*jsonschema.ValidationError))
}

// At returns what is wrong with the value at a place itself.
func At(trouble []Problem, place []string) []Problem {
	first := search(trouble, place)
	end := first
	for end < len(trouble) && slices.Equal(trouble[end].At, place) {
		end++
	}
	return trouble[first:end]
}

// Within reports whether anything is wrong at a place or inside it.
func Within(trouble []Problem, place []string) bool {
	i := search(trouble, place)
	return i < len(trouble) && len(trouble[i].At) >= len(place) && slices.Equal(trouble[i].At[:len(place)], place)
}

// search returns the index of the first fault at a place or after it.
func search(trouble []Problem, place []string) int {
	i, _ := slices.BinarySearchFunc(trouble, place, func(f Problem, at []string) int { return comparePaths(f.At, at) })
	return i
}

// List makes the validator's tree of complaints a list.
func List(err *jsonschema.ValidationError) []Problem {
	found := collectLeaves(err, nil)
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Or(comparePaths(a.At, b.At), cmp.Compare(rank(a.Kind), rank(b.Kind)), cmp.Compare(a.schema, b.schema), cmp.Compare(dedupKey(a.Kind), dedupKey(b.Kind)))
	})
	return found
}

// collectLeaves appends to out what is wrong by err.
func collectLeaves(err *jsonschema.ValidationError, out []Problem) []Problem {
	switch k := err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range err.Causes {
			out = collectLeaves(cause, out)
		}
		return out
	case *kind.AnyOf:
		return append(out, nearestAlternative(err)...)
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return append(out, nearestAlternative(err)...)
		}
	}
	return append(out, Problem{err.InstanceLocation, err.ErrorKind, err.SchemaURL, err.Causes})
}

// nearestAlternative returns what is wrong by the alternatives that came nearest. An
// alternative that takes values of another type altogether says nothing of
// interest unless all of them do; then, and when the others merely list the
// values that they take, all are put together into one choice.
func nearestAlternative(err *jsonschema.ValidationError) []Problem {
	var inner [][]Problem
	both := &Alternatives{}
	for _, cause := range err.Causes {
		found := collectLeaves(cause, nil)
		if !both.add(found, len(err.InstanceLocation)) {
			inner = append(inner, found)
		}
	}
	if len(inner) == 0 {
		return []Problem{{err.InstanceLocation, both, err.SchemaURL, nil}}
	}
	return slices.MinFunc(inner, func(a, b []Problem) int {
		return cmp.Compare(distance(a, len(err.InstanceLocation)), distance(b, len(err.InstanceLocation)))
	})
}

// add takes in an alternative that refuses the value at this depth for what
// it is, by its type or by a list of values. It reports whether it did.
func (c *Alternatives) add(found []Problem, depth int) bool {
	for _, f := range found {
		if len(f.At) != depth {
			continue
		}
		switch k := f.Kind.(type) {
		case *kind.Type:
			c.take(k.Want, nil)
			return true
		case *Alternatives:
			c.take(k.Types, k.Values)
			return true
		case *kind.Enum:
			c.take(nil, k.Want)
			return true
		case *kind.Const:
			c.take(nil, []any{k.Want})
			return true
		case *kind.FalseSchema:
			return true
		}
	}
	return false
}

func (c *Alternatives) take(types []string, values []any) {
	for _, t := range types {
		if !slices.Contains(c.Types, t) {
			c.Types = append(c.Types, t)
		}
	}
	c.Values = append(c.Values, values[:min(len(values), maxChoice-len(c.Values))]...)
}

// distance weighs what is wrong by one alternative. A property with a fixed
// value usually says which alternative was meant, so missing that is far off.
func distance(found []Problem, depth int) int {
	total := 0
	for _, f := range found {
		switch k := f.Kind.(type) {
		case *kind.Const, *kind.Enum:
			if len(f.At) == depth+1 {
				total += 10
			}
			total++
		case *kind.Required:
			total += 2 * len(k.Missing)
		case *kind.AdditionalProperties:
			total += 3 * len(k.Properties)
		case *kind.FalseSchema:
			total += 3
		default:
			total += 2
		}
	}
	return total
}

// rank orders complaints at one place: the type before what is inside it.
func rank(k any) int {
	switch k.(type) {
	case *kind.Type, *Alternatives:
		return 0
	case *kind.Enum, *kind.Const:
		return 1
	case *kind.Required:
		return 2
	default:
		return 3
	}
}

// dedupKey tells apart the complaints that one schema may make several times
// about one object, in the random order of its properties.
func dedupKey(k any) string {
	switch k := k.(type) {
	case *kind.PropertyNames:
		return k.Property
	case *kind.DependentRequired:
		return k.Prop
	case *kind.Dependency:
		return k.Prop
	default:
		return ""
	}
}

// comparePaths orders places as a reader would: items by number, names by
// letter, the outer before the inner.
func comparePaths(a, b []string) int {
	return slices.CompareFunc(a, b, func(x, y string) int {
		if x == y {
			return 0
		}
		switch i, j := isIndex(x), isIndex(y); {
		case i && j:
			return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
		case i:
			return -1
		case j:
			return 1
		default:
			return cmp.Compare(x, y)
		}
	})
}

func isIndex(token string) bool {
	return token != "" && strings.Trim(token, "0123456789") == ""
}
