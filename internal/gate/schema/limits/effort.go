package limits

import (
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/gate/schema/walk"
)

// maxEffort bounds how many times the validator lays a subschema on a value
// in one pass. Alternatives inside alternatives multiply, and a schema that
// refers to itself multiplies again with each level of the value.
const maxEffort = 2_000_000

// maxNested bounds how many subschemas the validator has open at once, one
// inside another. Its stack grows with that, and a stack that overflows ends
// the process.
const maxNested = 20_000

// maxChain bounds how many of them may be open on one and the same value; each
// looks back along that row for a circle.
const maxChain = 1000

// countPaths counts the ways that lead from root to a subschema, which bounds
// how often one value can be judged. A schema that can meet itself again has
// no such number and counts as maxEffort.
func countPaths(root *jsonschema.Schema) int {
	const walking = -1
	known := map[*jsonschema.Schema]int{}
	var count func(s *jsonschema.Schema) int
	count = func(s *jsonschema.Schema) int {
		if n, ok := known[s]; ok {
			if n == walking {
				return maxEffort
			}
			return n
		}
		known[s] = walking
		n := 1
		for _, sub := range walk.Children(s) {
			n = min(n+count(sub), maxEffort)
		}
		known[s] = n
		return n
	}
	return count(root)
}

// countChain counts the subschemas that can be open at once on one value: the
// longest way by which schemas hand the same value on. Where that way goes in
// a circle or is known only when validating, it is bounded by all there are,
// those included that only a dynamic reference finds.
func countChain(all []*jsonschema.Schema, hidden int) int {
	const walking = -1
	known := map[*jsonschema.Schema]int{}
	endless := false
	var count func(s *jsonschema.Schema) int
	count = func(s *jsonschema.Schema) int {
		if n, ok := known[s]; ok {
			endless = endless || n == walking
			return n
		}
		known[s] = walking
		longest := 0
		for _, sub := range onSame(s) {
			longest = max(longest, count(sub))
		}
		known[s] = longest + 1
		return longest + 1
	}
	longest := 0
	for _, s := range all {
		longest = max(longest, count(s))
		endless = endless || s.DynamicRef != nil || s.RecursiveRef != nil
	}
	if endless {
		return len(all) + hidden
	}
	return longest
}

// Budget is what a schema asks of the validator, and so what it may be asked
// about.
type Budget struct {
	root  *jsonschema.Schema
	paths int // ways from the root to a subschema
	chain int // subschemas that can be open at once on one value
}

// NewBudget works out the budget of a compiled schema, whose text holds weight
// subschemas (see [ReadSchema]). It says why a schema is beyond any budget.
func NewBudget(root *jsonschema.Schema, weight int) (Budget, error) {
	b := Budget{root, countPaths(root), countChain(walk.Reachable(root, walk.Children), weight)}
	if b.chain > maxChain {
		return b, fmt.Errorf("its parts refer to each other more than %d times in a row", maxChain)
	}
	if err := b.Allows(nil, maxEffort); err != nil {
		return b, fmt.Errorf("for any value at all, %w", err)
	}
	return b, nil
}

// Allows reports why value, read from size bytes of text, may not be validated:
// the work would go beyond maxEffort or maxNested. Nearly always the size of
// the schema and of the text settles that it does not; only otherwise is
// anything counted.
func (b Budget) Allows(value any, size int) error {
	if b.chain*min(size, maxDepth) > maxNested && b.tooDeep(value) {
		return errors.New("it is nested too deep to be checked against this schema, whose parts refer to each other many times over")
	}
	if int64(size/2+1)*int64(b.paths) <= maxEffort {
		return nil
	}
	if costs(b.root, value) > maxEffort {
		return fmt.Errorf("it would take more than %d steps to check against this schema, whose alternatives multiply", maxEffort)
	}
	return nil
}

func (b Budget) tooDeep(value any) bool { return b.chain*depthOf(value) > maxNested }

func depthOf(value any) int {
	deepest := 0
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			deepest = max(deepest, depthOf(v))
		}
	case []any:
		for _, v := range value {
			deepest = max(deepest, depthOf(v))
		}
	}
	return deepest + 1
}

// costs counts how often the validator would lay a subschema on value and on
// what is in it.
func costs(s *jsonschema.Schema, value any) int {
	loads := evalCounts{s: 1}
	propagate(loads)
	return countEvaluations(value, loads)
}

// evalCounts is how often each schema is laid on one value.
type evalCounts map[*jsonschema.Schema]int

// countEvaluations counts how often the validator would lay a subschema on value and
// what is in it, given the load on value itself.
func countEvaluations(value any, loads evalCounts) int {
	total := 0
	add := func(n int) { total = min(total+n, maxEffort+1) }
	for _, n := range loads {
		add(n)
	}
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			add(countEvaluations(v, below(loads, func(s *jsonschema.Schema) []*jsonschema.Schema { return walk.ForProperty(s, name) })))
		}
	case []any:
		named := 0 // items that may have schemas of their own; the others share theirs
		for s := range loads {
			tuple, _ := s.Items.([]*jsonschema.Schema)
			named = max(named, len(tuple), len(s.PrefixItems))
		}
		var next evalCounts
		for i, v := range value {
			if i <= named {
				next = onItem(loads, i)
			}
			add(countEvaluations(v, next))
			if total > maxEffort {
				break
			}
		}
	}
	return total
}

// onItem is the load on one item of a list.
func onItem(loads evalCounts, i int) evalCounts {
	return below(loads, func(s *jsonschema.Schema) []*jsonschema.Schema {
		if s.Contains != nil {
			return append([]*jsonschema.Schema{s.Contains}, walk.ForItem(s, i)...)
		}
		return walk.ForItem(s, i)
	})
}

// below is the load on something inside a value.
func below(loads evalCounts, of func(*jsonschema.Schema) []*jsonschema.Schema) evalCounts {
	next := evalCounts{}
	for s, n := range loads {
		for _, sub := range of(s) {
			next[sub] = min(next[sub]+n, maxEffort+1)
		}
	}
	if len(next) > 0 {
		propagate(next)
	}
	return next
}

// propagate adds to loads what the schemas in it lay on the same value, as often
// as they do. Callers come before what they call; a schema that is still
// being walked is a circle, which the validator cuts there too.
func propagate(loads evalCounts) {
	var order []*jsonschema.Schema
	seen := map[*jsonschema.Schema]bool{}
	var walk func(s *jsonschema.Schema)
	walk = func(s *jsonschema.Schema) {
		if seen[s] {
			return
		}
		seen[s] = true
		for _, sub := range onSame(s) {
			walk(sub)
		}
		order = append(order, s)
	}
	for s := range loads {
		walk(s)
	}
	for i := len(order) - 1; i >= 0; i-- {
		s := order[i]
		for _, sub := range onSame(s) {
			loads[sub] = min(loads[sub]+loads[s], maxEffort+1)
		}
	}
}

// onSame is walk.InPlace with the conditions, which take work as well.
func onSame(s *jsonschema.Schema) []*jsonschema.Schema {
	out := walk.SameValue(s)
	for _, sub := range []*jsonschema.Schema{s.If, s.Not} {
		if sub != nil {
			out = append(out, sub)
		}
	}
	return out
}
