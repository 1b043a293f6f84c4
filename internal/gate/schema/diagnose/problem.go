// Package diagnose explains why a value is invalid. It turns the validator's tree
// of errors into a list of problems, and the problems into text.
//
// The law: one value under one schema gives one list, ordered by path, although
// the validator reports in the random order of its maps. If all alternatives of
// an anyOf or oneOf failed, only those that came closest are reported.
package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Problem is one problem of a value.
type Problem struct {
	At   []string // the path of the value
	Kind any      // the validator's kind of error, or *Alternatives

	schema string // the location of the subschema that reports it
	causes []*jsonschema.ValidationError
}

// maxAlternatives limits the values of one Alternatives.
const maxAlternatives = 1000

// Alternatives is the problem of an anyOf or oneOf whose alternatives all refuse
// the type of the value: together they accept these types and these values.
type Alternatives struct {
	Types  []string
	Values []any
}

// Validate validates value and returns its problems; none if it is valid.
func Validate(s *jsonschema.Schema, value any) []Problem {
	err := s.Validate(value)
	if err == nil {
		return nil
	}
	return List(err.(*jsonschema.ValidationError))
}

// At returns the problems of the value at path itself.
func At(problems []Problem, path []string) []Problem {
	first := search(problems, path)
	end := first
	for end < len(problems) && slices.Equal(problems[end].At, path) {
		end++
	}
	return problems[first:end]
}

// Within reports whether there is a problem at path or below it.
func Within(problems []Problem, path []string) bool {
	i := search(problems, path)
	return i < len(problems) && len(problems[i].At) >= len(path) && slices.Equal(problems[i].At[:len(path)], path)
}

// search returns the index of the first problem at path or after it.
func search(problems []Problem, path []string) int {
	i, _ := slices.BinarySearchFunc(problems, path, func(p Problem, at []string) int {
		return comparePaths(p.At, at)
	})
	return i
}

// List flattens the validator's tree of errors into a list.
func List(err *jsonschema.ValidationError) []Problem {
	found := collectLeaves(err, nil)
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Or(comparePaths(a.At, b.At), cmp.Compare(rank(a.Kind), rank(b.Kind)),
			cmp.Compare(a.schema, b.schema), cmp.Compare(dedupKey(a.Kind), dedupKey(b.Kind)))
	})
	return found
}

// collectLeaves appends the problems of err to out.
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

// nearestAlternative returns the problems of the alternative that came closest. An
// alternative that wants another type, or one of a list of values, is left out
// unless all of them do; then all are merged into one Alternatives.
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

// add merges an alternative that refuses the value at this depth by its type or by
// a list of values. It reports whether it did.
func (a *Alternatives) add(found []Problem, depth int) bool {
	for _, p := range found {
		if len(p.At) != depth {
			continue
		}
		switch k := p.Kind.(type) {
		case *kind.Type:
			a.take(k.Want, nil)
			return true
		case *Alternatives:
			a.take(k.Types, k.Values)
			return true
		case *kind.Enum:
			a.take(nil, k.Want)
			return true
		case *kind.Const:
			a.take(nil, []any{k.Want})
			return true
		case *kind.FalseSchema:
			return true
		}
	}
	return false
}

func (a *Alternatives) take(types []string, values []any) {
	for _, t := range types {
		if !slices.Contains(a.Types, t) {
			a.Types = append(a.Types, t)
		}
	}
	a.Values = append(a.Values, values[:min(len(values), maxAlternatives-len(a.Values))]...)
}

// distance weighs the problems of one alternative. A property with a fixed value
// usually shows which alternative was meant, so a wrong one weighs most.
func distance(found []Problem, depth int) int {
	total := 0
	for _, p := range found {
		switch k := p.Kind.(type) {
		case *kind.Const, *kind.Enum:
			if len(p.At) == depth+1 {
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

// rank orders the problems at one path: the type before the contents.
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

// dedupKey distinguishes the errors of one schema about one object, which come in
// the random order of its properties.
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

// comparePaths orders paths as a reader would: items by index, names by letter, the
// outer before the inner.
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
