package condition

import (
	"math"
	"strings"
	"unicode/utf8"
)

// spread is a list whose elements what follows is about.
type spread []any

// evaluation is one walk over an expression.
type evaluation struct {
	source string
	values map[string]any
	steps  int
}

// evaluate computes a node. A panic of a value that is none of ours cannot happen:
// normal turns every value into one of the seven kinds, or refuses it.
func evaluate(n *node, source string, values map[string]any) (any, error) {
	e := evaluation{source: source, values: values}
	v, err := e.eval(n)
	if s, ok := v.(spread); ok {
		return []any(s), err
	}
	return v, err
}

// count notes work, and reports when there was too much of it.
func (e *evaluation) count(n *node, steps int) error {
	if e.steps += steps; e.steps > maxSteps {
		return undecided(e.source, n.pos, "the values are too large")
	}
	return nil
}

// eval computes a node: nil, bool, int64, float64, string, []any, map[string]any, or
// a spread.
func (e *evaluation) eval(n *node) (any, error) {
	if err := e.count(n, 1); err != nil {
		return nil, err
	}
	switch n.kind {
	case literal:
		return n.value, nil
	case name:
		return e.normal(n, e.values[n.name])
	case list:
		out := make([]any, len(n.args))
		for i, a := range n.args {
			v, err := e.plain(a)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	case field, index, each:
		return e.path(n)
	case call:
		return e.call(n)
	case unary:
		return e.unary(n)
	}
	return e.binary(n)
}

// plain computes a node whose list is one value from here on.
func (e *evaluation) plain(n *node) (any, error) {
	v, err := e.eval(n)
	if s, ok := v.(spread); ok {
		return []any(s), err
	}
	return v, err
}

// path takes one step.
func (e *evaluation) path(n *node) (any, error) {
	base, err := e.eval(n.args[0])
	if err != nil {
		return nil, err
	}
	var at any = n.name
	if n.kind == index {
		if at, err = e.plain(n.args[1]); err != nil {
			return nil, err
		}
	}
	all, ok := base.(spread)
	if !ok {
		return e.step(n, base, at)
	}
	out := make(spread, 0, len(all))
	for _, b := range all {
		if b, err = e.normal(n, b); err != nil {
			return nil, err
		}
		v, err := e.step(n, b, at)
		if err != nil {
			return nil, err
		}
		if more, ok := v.(spread); ok {
			out = append(out, more...)
		} else {
			out = append(out, v)
		}
	}
	return out, e.count(n, len(out))
}

// step goes from a value to its field, its place or its elements. From null every
// step leads to null.
func (e *evaluation) step(n *node, base, at any) (any, error) {
	if base == nil {
		if n.kind == each {
			return spread{}, nil
		}
		return nil, nil
	}
	switch b := base.(type) {
	case []any:
		if n.kind == each {
			return spread(b), e.count(n, len(b))
		}
		if n.kind == field && !n.safe {
			return nil, undecided(e.source, n.args[0].pos, "%s is a list, and has no field %s",
				n.args[0].text(e.source), n.name)
		}
		f, ok := toFloat(at)
		if n.safe && !ok {
			return nil, nil
		}
		if !ok || f != math.Trunc(f) {
			return nil, undecided(e.source, n.pos, "%s is no place of a list", show(at))
		}
		if f < 0 {
			f += float64(len(b))
		}
		if f < 0 || f >= float64(len(b)) {
			return nil, nil
		}
		return e.normal(n, b[int(f)])
	case map[string]any:
		if key, ok := at.(string); ok && n.kind != each {
			return e.normal(n, b[key])
		}
	}
	if n.safe {
		return nil, nil
	}
	what := "field " + show(at)
	switch {
	case n.kind == each:
		what = "elements"
	case n.kind == index:
		what = "place " + show(at)
	}
	return nil, undecided(e.source, n.args[0].pos, "%s is %s, and has no %s", n.args[0].text(e.source), kindOf(base), what)
}

func (e *evaluation) call(n *node) (any, error) {
	v, err := e.plain(n.args[0])
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		switch n.name {
		case "len":
			return int64(utf8.RuneCountInString(v)), e.count(n, len(v)/64)
		case "lower":
			return strings.ToLower(v), e.count(n, len(v)/64)
		}
	case []any:
		if n.name == "len" {
			return int64(len(v)), nil
		}
	case map[string]any:
		if n.name == "len" {
			return int64(len(v)), nil
		}
	case int64:
		if n.name == "abs" {
			if v == math.MinInt64 {
				return -float64(v), nil
			}
			return max(v, -v), nil
		}
	case float64:
		if n.name == "abs" {
			return math.Abs(v), nil
		}
	}
	return nil, undecided(e.source, n.pos, "%s is %s, which %s does not take", n.args[0].text(e.source), kindOf(v), n.name)
}

func (e *evaluation) unary(n *node) (any, error) {
	v, err := e.plain(n.args[0])
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case bool:
		if n.name == "not" {
			return !v, nil
		}
	case int64:
		if n.name == "-" && v != math.MinInt64 {
			return -v, nil
		}
	case float64:
		if n.name == "-" {
			return -v, nil
		}
	}
	return nil, undecided(e.source, n.args[0].pos, "%s is %s, which %s does not take",
		n.args[0].text(e.source), kindOf(v), n.name)
}
