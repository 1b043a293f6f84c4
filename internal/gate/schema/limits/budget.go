package limits

import (
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/gate/schema/walk"
)

// maxEffort limits the evaluations of one validation: how often the validator
// applies a subschema to a value. Nested alternatives multiply, and a schema that
// refers to itself multiplies again with each level of the value.
const maxEffort = 2_000_000

// maxNested limits the subschemas that the validator has open at once, one inside
// another. Its stack grows with them, and a stack overflow ends the process.
const maxNested = 20_000

// maxChain limits the subschemas that are open at once on the same value; each of
// them searches that chain for a cycle.
const maxChain = 1000

// countPaths counts the paths from root to a subschema, which bounds how often one
// value can be evaluated. A cyclic schema counts as maxEffort.
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
// longest chain of schemas that evaluate the same value. If the chain is a cycle
// or is known only when validating, its bound is the number of all subschemas,
// including those that only a dynamic reference reaches.
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

// Budget estimates the cost of validating values under a schema.
type Budget struct {
	root  *jsonschema.Schema
	paths int // paths from the root to a subschema
	chain int // subschemas that can be open at once on one value
}

// NewBudget computes the budget of a compiled schema, whose text holds weight
// subschemas (see [ReadSchema]). It returns an error for a schema that is too
// expensive for any value.
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

// Allows returns an error if validating value, whose text has size bytes, would
// exceed maxEffort or maxNested. The size of the schema and of the text nearly
// always decide; only otherwise does Allows count.
func (b Budget) Allows(value any, size int) error {
	if b.chain*min(size, maxDepth) > maxNested && b.tooDeep(value) {
		return errors.New("it is nested too deep to be checked against this schema, " +
			"whose parts refer to each other many times over")
	}
	if int64(size/2+1)*int64(b.paths) <= maxEffort {
		return nil
	}
	if costs(b.root, value) > maxEffort {
		return fmt.Errorf("it would take more than %d steps to check against this schema, "+
			"whose alternatives multiply", maxEffort)
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

// costs counts the evaluations of value and its parts under s.
func costs(s *jsonschema.Schema, value any) int {
	counts := evalCounts{s: 1}
	propagate(counts)
	return countEvaluations(value, counts)
}

// evalCounts holds how often each schema is evaluated on one value.
type evalCounts map[*jsonschema.Schema]int

// countEvaluations counts the evaluations of value and its parts, given the counts
// on value itself.
func countEvaluations(value any, counts evalCounts) int {
	total := 0
	add := func(n int) { total = min(total+n, maxEffort+1) }
	for _, n := range counts {
		add(n)
	}
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			ofProperty := func(s *jsonschema.Schema) []*jsonschema.Schema { return walk.ForProperty(s, name) }
			add(countEvaluations(v, below(counts, ofProperty)))
		}
	case []any:
		named := 0 // the items that may have schemas of their own; the others share one
		for s := range counts {
			tuple, _ := s.Items.([]*jsonschema.Schema)
			named = max(named, len(tuple), len(s.PrefixItems))
		}
		var next evalCounts
		for i, v := range value {
			if i <= named {
				next = onItem(counts, i)
			}
			add(countEvaluations(v, next))
			if total > maxEffort {
				break
			}
		}
	}
	return total
}

// onItem returns the counts on one item of a list.
func onItem(counts evalCounts, i int) evalCounts {
	return below(counts, func(s *jsonschema.Schema) []*jsonschema.Schema {
		if s.Contains != nil {
			return append([]*jsonschema.Schema{s.Contains}, walk.ForItem(s, i)...)
		}
		return walk.ForItem(s, i)
	})
}

// below returns the counts on a part of a value.
func below(counts evalCounts, of func(*jsonschema.Schema) []*jsonschema.Schema) evalCounts {
	next := evalCounts{}
	for s, n := range counts {
		for _, sub := range of(s) {
			next[sub] = min(next[sub]+n, maxEffort+1)
		}
	}
	if len(next) > 0 {
		propagate(next)
	}
	return next
}

// propagate adds to counts the subschemas that the schemas in it evaluate on the
// same value. A schema comes before its subschemas. A cycle is cut at the schema
// that is still being visited, where the validator cuts it too.
func propagate(counts evalCounts) {
	var order []*jsonschema.Schema
	seen := map[*jsonschema.Schema]bool{}
	var visit func(s *jsonschema.Schema)
	visit = func(s *jsonschema.Schema) {
		if seen[s] {
			return
		}
		seen[s] = true
		for _, sub := range onSame(s) {
			visit(sub)
		}
		order = append(order, s)
	}
	for s := range counts {
		visit(s)
	}
	for i := len(order) - 1; i >= 0; i-- {
		s := order[i]
		for _, sub := range onSame(s) {
			counts[sub] = min(counts[sub]+counts[s], maxEffort+1)
		}
	}
}

// onSame is walk.SameValue with the conditions, which cost work as well.
func onSame(s *jsonschema.Schema) []*jsonschema.Schema {
	out := walk.SameValue(s)
	for _, sub := range []*jsonschema.Schema{s.If, s.Not} {
		if sub != nil {
			out = append(out, sub)
		}
	}
	return out
}
