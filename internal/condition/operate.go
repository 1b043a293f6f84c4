package condition

import (
	"cmp"
	"math"
	"strings"
)

// binary computes an operator between two values. The right side of "and" and "or" is
// computed only where it decides.
func (e *evaluation) binary(n *node) (any, error) {
	a, err := e.plain(n.args[0])
	if err != nil {
		return nil, err
	}
	if n.name == "and" || n.name == "or" {
		return e.logical(n, a)
	}
	b, err := e.plain(n.args[1])
	if err != nil {
		return nil, err
	}
	switch n.name {
	case "==", "!=":
		same, err := e.sameAs(n, a, b)
		return same == (n.name == "=="), err
	case "<", "<=", ">", ">=":
		return e.order(n, a, b)
	case "in":
		return e.contains(n, b, a)
	case "contains":
		return e.contains(n, a, b)
	case "startswith", "endswith", "matches":
		return e.text(n, a, b)
	}
	return e.arithmetic(n, a, b)
}

func (e *evaluation) logical(n *node, a any) (any, error) {
	left, ok := a.(bool)
	if !ok {
		return nil, e.unfit(n, n.args[0], a)
	}
	if left == (n.name == "or") {
		return left, nil
	}
	b, err := e.plain(n.args[1])
	if err != nil {
		return nil, err
	}
	if _, ok := b.(bool); !ok {
		return nil, e.unfit(n, n.args[1], b)
	}
	return b, nil
}

// unfit is the error of a value that an operator does not take.
func (e *evaluation) unfit(n, arg *node, v any) error {
	if v == nil {
		return undecided(e.source, arg.pos, "%s is null or not there, which %s does not take", arg.text(e.source), n.name)
	}
	return undecided(e.source, arg.pos, "%s is %s, which %s does not take", arg.text(e.source), kindOf(v), n.name)
}

// mixed is the error of two values that cannot be compared.
func (e *evaluation) mixed(n *node, a, b any) error {
	return undecided(e.source, n.pos, "%s is %s and %s is %s: %s cannot compare them",
		n.args[0].text(e.source), kindOf(a), n.args[1].text(e.source), kindOf(b), n.name)
}

// sameAs decides ==. A literal says of which kind a value is meant to be, so one of
// another kind is an error; null may be compared with everything.
func (e *evaluation) sameAs(n *node, a, b any) (bool, error) {
	if ka, kb := kindOf(a), kindOf(b); ka != kb && ka != Null && kb != Null &&
		(n.args[0].kind == literal || n.args[1].kind == literal) {
		return false, e.mixed(n, a, b)
	}
	return e.equal(n, a, b)
}

// equal compares two values, all the way down.
func (e *evaluation) equal(n *node, a, b any) (bool, error) {
	if err := e.count(n, 1); err != nil {
		return false, err
	}
	a, err := e.normal(n, a)
	if err != nil {
		return false, err
	}
	if b, err = e.normal(n, b); err != nil {
		return false, err
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		for i := range a {
			if same, err := e.equal(n, a[i], b[i]); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		for k, v := range a {
			w, ok := b[k]
			if !ok {
				return false, nil
			}
			if same, err := e.equal(n, v, w); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	case string:
		b, ok := b.(string)
		return ok && a == b, nil
	case bool:
		b, ok := b.(bool)
		return ok && a == b, nil
	case nil:
		return b == nil, nil
	}
	c, ok := compareNumbers(a, b)
	return ok && c == 0, nil
}

// order decides <, <=, > and >=.
func (e *evaluation) order(n *node, a, b any) (any, error) {
	for i, v := range []any{a, b} {
		if k := kindOf(v); k != Number && k != Text {
			return nil, e.unfit(n, n.args[i], v)
		}
	}
	c, ok := compareNumbers(a, b)
	if !ok {
		x, textA := a.(string)
		y, textB := b.(string)
		if !textA || !textB {
			return nil, e.mixed(n, a, b)
		}
		c = cmp.Compare(x, y)
	}
	switch n.name {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}

// contains decides whether a value is in a text, a list or the names of an object.
// Nothing is in null.
func (e *evaluation) contains(n *node, whole, part any) (any, error) {
	switch w := whole.(type) {
	case nil:
		return false, nil
	case string:
		if p, ok := part.(string); ok {
			return strings.Contains(w, p), e.count(n, len(w)/64)
		}
	case map[string]any:
		if p, ok := part.(string); ok {
			_, has := w[p]
			return has, nil
		}
	case []any:
		for _, v := range w {
			if same, err := e.equal(n, v, part); same || err != nil {
				return same, err
			}
		}
		return false, nil
	}
	if n.name == "in" {
		return nil, e.mixed(n, part, whole)
	}
	return nil, e.mixed(n, whole, part)
}

// text decides startswith, endswith and matches. Null begins and ends with nothing.
func (e *evaluation) text(n *node, a, b any) (any, error) {
	if a == nil {
		return false, nil
	}
	x, okA := a.(string)
	y, okB := b.(string)
	if !okA || !okB {
		return nil, e.mixed(n, a, b)
	}
	switch n.name {
	case "startswith":
		return strings.HasPrefix(x, y), nil
	case "endswith":
		return strings.HasSuffix(x, y), nil
	}
	if err := e.count(n, len(x)/16); err != nil {
		return nil, err
	}
	return n.match(x), nil
}

// arithmetic computes with numbers: whole ones stay whole as long as they fit.
func (e *evaluation) arithmetic(n *node, a, b any) (any, error) {
	x, okA := toFloat(a)
	y, okB := toFloat(b)
	if !okA {
		return nil, e.unfit(n, n.args[0], a)
	}
	if !okB {
		return nil, e.unfit(n, n.args[1], b)
	}
	if (n.name == "/" || n.name == "%") && y == 0 {
		return nil, undecided(e.source, n.args[1].pos, "%s is 0, and nothing is divided by it", n.args[1].text(e.source))
	}
	i, wholeA := a.(int64)
	j, wholeB := b.(int64)
	if wholeA && wholeB && n.name != "/" {
		if r, ok := wholes(n.name, i, j); ok {
			return r, nil
		}
	}
	switch n.name {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "/":
		return x / y, nil
	}
	return math.Mod(x, y), nil
}

// wholes computes with whole numbers, and reports whether the result fits.
func wholes(op string, i, j int64) (int64, bool) {
	const small = 1 << 31
	if op == "%" {
		return i % j, j != -1
	}
	if i > -small && i < small && j > -small && j < small {
		switch op {
		case "+":
			return i + j, true
		case "-":
			return i - j, true
		}
		return i * j, true
	}
	sum := i + j
	if op == "-" {
		sum = i - j
		return sum, (sum < i) == (j > 0)
	}
	return sum, op == "+" && (sum > i) == (j > 0)
}
