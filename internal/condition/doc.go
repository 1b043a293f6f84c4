// Package condition reads the expressions of watchers and hooks: conditions, which
// are true or false, and templates, whose places are filled with values.
//
//	result.count > 5 and error == null
//	result.items[0].state in [failed, "timed out"]
//	result.items[*].state contains failed
//	result.total - previous.total >= 10
//	lower(result.title) matches "^urgent"
//
// # Laws
//
//   - An expression is parsed and checked before it is used. One that names what is
//     not there, compares what cannot be compared, or is not true or false in the end
//     is refused, with the place and a hint. It is never taken for false.
//   - What only the values show (a field that is missing, text where a number is
//     compared) is an error of the evaluation, and not false either. A path that leads
//     nowhere is null: null equals null, and has no order. Where the Env is Safe, so is a
//     step into what has no fields.
//   - A name that is no root belongs to the implied root where it stands for a value
//     (count > 5 is result.count > 5), and is a text where it is compared with one
//     (result.state == done). A name that looks like a mistyped root is refused.
//   - An evaluation ends: there are no loops and no recursion, each value is visited a
//     bounded number of times, and nothing larger than what came in is made. Regular
//     expressions take time in proportion to the text.
//   - What was compiled never changes, and is safe for concurrent use.
package condition

import (
	"maps"
	"slices"

	"callgate/tool"
)

// The bounds of an expression and of its evaluation.
const (
	MaxSource = 2000      // bytes of an expression
	maxDepth  = 40        // brackets and operators inside each other
	maxSteps  = 1_000_000 // values that one evaluation visits
	maxText   = 1 << 20   // bytes of a text that a template becomes
)

// Kind is what sort of value a type has.
type Kind uint8

// The kinds. Any is decided when the value is there.
const (
	Any Kind = iota
	Null
	Bool
	Number
	Text
	List
	Map
)

// String names the kind as an error does.
func (k Kind) String() string {
	return [...]string{"a value", "null", "true or false", "a number", "a text", "a list", "an object"}[k]
}

// Type is what is known of a value before it is there. The zero Type is any value.
type Type struct {
	Kind   Kind
	Fields map[string]Type // of a Map: those that are known
	Closed bool            // of a Map: there are no others
	Elem   *Type           // of a List: what is in it; nil: any

	spread bool // of a List: what follows is about each of its elements
}

// Env is what an expression may speak of.
type Env struct {
	Roots   map[string]Type
	Implied string // the root that a name belongs to which is no root; "": none
	// Safe makes a step that leads nowhere null, also one into a text or a number.
	Safe bool
}

// names lists the roots, for errors.
func (e Env) names() []string { return slices.Sorted(maps.Keys(e.Roots)) }

// Condition is an expression that is true or false.
type Condition struct {
	source string
	root   *node
}

// Compile reads a condition. Its error says where the expression is wrong, and what
// would be right.
func Compile(source string, env Env) (*Condition, error) {
	root, err := compile(source, env)
	if err != nil {
		return nil, err
	}
	if k := root.typ.Kind; k != Bool && k != Any {
		return nil, fault(source, root.pos, "the whole is "+k.String()+", and must be true or false").
			WithHint("compare it with something, as in %s != null", tool.Truncate(source))
	}
	return &Condition{source: source, root: root}, nil
}

// String returns the condition as it was written.
func (c *Condition) String() string { return c.source }

// Uses reports whether the condition speaks of a root.
func (c *Condition) Uses(root string) bool { return c.root.uses(root) }

// Eval decides the condition for the values of the roots, which are made of what
// encoding/json decodes into an any. A root without a value is null.
func (c *Condition) Eval(values map[string]any) (bool, error) {
	v, err := evaluate(c.root, c.source, values)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, undecided(c.source, c.root.pos, "%s is %s, and a condition must be true or false",
			c.root.text(c.source), kindOf(v))
	}
	return b, nil
}

// compile parses and checks.
func compile(source string, env Env) (*node, error) {
	root, err := parse(source)
	if err != nil {
		return nil, err
	}
	c := checker{source: source, env: env}
	if err := c.check(root, false); err != nil {
		return nil, err
	}
	return root, nil
}
