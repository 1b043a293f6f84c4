package condition

import (
	"strconv"
	"strings"
)

// nodeKind is what a node of an expression is.
type nodeKind uint8

const (
	literal nodeKind = iota
	name             // a root, or what the checker makes of it
	field            // args[0].name
	index            // args[0][args[1]]
	each             // args[0][*]
	list             // [args...]
	call             // name(args...)
	unary            // op args[0]
	binary           // args[0] op args[1]
)

// node is a part of an expression.
type node struct {
	kind     nodeKind
	pos, end int
	name     string // of name, field, call; the operator of unary and binary
	value    any    // of literal
	args     []*node
	typ      Type
	match    func(string) bool // of binary "matches"
	safe     bool              // of field, index, each: what has no such thing has null
}

// uses reports whether the node or one below it is a root.
func (n *node) uses(root string) bool {
	if n.kind == name && n.name == root {
		return true
	}
	for _, a := range n.args {
		if a.uses(root) {
			return true
		}
	}
	return false
}

// text is the node as it was written.
func (n *node) text(source string) string { return source[n.pos:n.end] }

// words are the operators that are written as words.
var words = [...]string{"and", "or", "not", "in", "contains", "startswith", "endswith", "matches"}

// parser reads one expression by recursive descent.
type parser struct {
	source string
	tok    token
	last   int // where the token before tok ended
	depth  int
}

// parse reads a whole source.
func parse(source string) (*node, error) {
	if len(source) > MaxSource {
		return nil, fault(source[:MaxSource], MaxSource, "it is longer than "+strconv.Itoa(MaxSource)+" bytes")
	}
	p := parser{source: source}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == end {
		return nil, fault(source, 0, "it is empty")
	}
	n, err := p.expression(0)
	if err != nil {
		return nil, err
	}
	if p.tok.kind != end {
		return nil, p.unexpected("an operator or the end")
	}
	return n, nil
}

func (p *parser) advance() (err error) {
	p.last = p.tok.end
	p.tok, err = next(p.source, p.tok.end)
	return err
}

// unexpected is the error of a token that cannot stand where it does.
func (p *parser) unexpected(want string) error {
	if p.tok.kind == end {
		return fault(p.source, len(p.source), "it ends where "+want+" was expected")
	}
	return fault(p.source, p.tok.pos, "there is "+strconv.Quote(p.source[p.tok.pos:p.tok.end])+", where "+want+
		" was expected")
}

// deeper counts how far expressions are inside each other.
func (p *parser) deeper() error {
	if p.depth++; p.depth > maxDepth {
		return fault(p.source, p.tok.pos, "brackets and operators are more than "+strconv.Itoa(maxDepth)+" deep")
	}
	return nil
}

// The levels of operators, those that bind least first.
const (
	levelOr = iota
	levelAnd
	levelNot
	levelCompare
	levelSum
	levelProduct
	levelUnary
)

// operator returns the binary operator that stands here, by its one name, and its
// level.
func (p *parser) operator() (op string, level int) {
	switch p.tok.kind {
	case word:
		op = p.tok.text
		for _, w := range words {
			if strings.EqualFold(op, w) {
				op = w
			}
		}
	case symbol:
		op = p.tok.text
	}
	switch op {
	case "or", "||":
		return "or", levelOr
	case "and", "&&":
		return "and", levelAnd
	case "==", "!=", "<", "<=", ">", ">=", "in", "not", "contains", "startswith", "endswith", "matches":
		return op, levelCompare
	case "+", "-":
		return op, levelSum
	case "*", "/", "%":
		return op, levelProduct
	}
	return "", -1
}

// expression reads operators of a level and above.
func (p *parser) expression(level int) (*node, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	left, err := p.prefix(level)
	if err != nil {
		return nil, err
	}
	for compared := false; ; {
		op, at := p.operator()
		if at < level {
			return left, nil
		}
		if at == levelCompare && compared {
			return nil, fault(p.source, p.tok.pos, "two comparisons stand in a row").
				WithHint("join them, as in a < b and b < c")
		}
		compared = at == levelCompare
		negated := op == "not"
		if err := p.advance(); err != nil {
			return nil, err
		}
		if negated {
			if op, _ = p.operator(); op != "in" && op != "contains" {
				return nil, p.unexpected("in or contains after not")
			}
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
		right, err := p.expression(at + 1)
		if err != nil {
			return nil, err
		}
		left = &node{kind: binary, name: op, args: []*node{left, right}, pos: left.pos, end: right.end}
		if negated {
			left = &node{kind: unary, name: "not", args: []*node{left}, pos: left.pos, end: left.end}
		}
	}
}

// prefix reads what stands before the first operator.
func (p *parser) prefix(level int) (*node, error) {
	op := ""
	switch {
	case p.tok.kind == symbol && p.tok.text == "!", p.tok.kind == word && strings.EqualFold(p.tok.text, "not"):
		op = "not"
	case p.tok.kind == symbol && p.tok.text == "-":
		op = "-"
	default:
		return p.path()
	}
	pos := p.tok.pos
	bang := p.tok.text == "!"
	if op == "not" && !bang && level > levelNot {
		return nil, fault(p.source, pos, "not stands inside a comparison").WithHint("put brackets around it")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	below := levelUnary
	if op == "not" && !bang {
		below = levelNot
	}
	arg, err := p.expression(below)
	if err != nil {
		return nil, err
	}
	return &node{kind: unary, name: op, args: []*node{arg}, pos: pos, end: arg.end}, nil
}
