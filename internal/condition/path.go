package condition

import (
	"strconv"
	"strings"
)

// path reads a value and the fields and places behind it.
func (p *parser) path() (*node, error) {
	n, err := p.value()
	if err != nil {
		return nil, err
	}
	for p.tok.kind == symbol {
		var step *node
		switch p.tok.text {
		case ".":
			step, err = p.dot(n)
		case "[*]":
			step = &node{kind: each, args: []*node{n}}
			err = p.advance()
		case "[":
			step, err = p.brackets(n)
		default:
			return n, nil
		}
		if err != nil {
			return nil, err
		}
		step.pos, step.end = n.pos, p.last
		n = step
	}
	return n, nil
}

// dot reads a field: a name, also one that is a word of the language, or a place in
// a list, as in items.0, or items.-1 for the last.
func (p *parser) dot(n *node) (*node, error) {
	from := p.tok.end
	to := from
	if strings.HasPrefix(p.source[from:], "-") {
		to++
	}
	for to < len(p.source) && p.source[to] >= '0' && p.source[to] <= '9' {
		to++
	}
	if i, err := strconv.ParseInt(p.source[from:to], 10, 64); err == nil {
		at := &node{kind: literal, value: i, pos: from, end: to}
		p.tok = token{pos: from, end: to}
		return &node{kind: index, args: []*node{n, at}}, p.advance()
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind != word {
		return nil, p.unexpected("a field")
	}
	step := &node{kind: field, name: p.tok.text, args: []*node{n}}
	return step, p.advance()
}

// brackets reads a place in a list, or the name of a field.
func (p *parser) brackets(n *node) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	at, err := p.expression(levelOr)
	if err != nil {
		return nil, err
	}
	if err := p.expect("]"); err != nil {
		return nil, err
	}
	return &node{kind: index, args: []*node{n, at}}, nil
}

// expect reads a bracket.
func (p *parser) expect(s string) error {
	if p.tok.kind != symbol || p.tok.text != s {
		return p.unexpected(s)
	}
	return p.advance()
}

// value reads a literal, a name, a call, a list or what is in brackets.
func (p *parser) value() (*node, error) {
	t := p.tok
	n := &node{kind: literal, pos: t.pos, end: t.end}
	switch {
	case t.kind == number:
		n.value = t.num
	case t.kind == quoted:
		n.value = t.text
	case t.kind == word:
		return p.name(n)
	case t.kind == symbol && t.text == "(":
		return p.group()
	case t.kind == symbol && t.text == "[":
		return p.sequence(&node{kind: list, pos: t.pos}, "]")
	default:
		return nil, p.unexpected("a value")
	}
	return n, p.advance()
}

// name reads a word: one of the literals, a function, or a name.
func (p *parser) name(n *node) (*node, error) {
	t := p.tok
	switch t.text {
	case "null", "None", "nil", "none", "NULL":
	case "true", "True", "TRUE":
		n.value = true
	case "false", "False", "FALSE":
		n.value = false
	default:
		n.kind, n.name = name, t.text
		for _, w := range words {
			if strings.EqualFold(w, t.text) {
				return nil, p.unexpected("a value")
			}
		}
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == symbol && p.tok.text == "(" && n.kind == name {
		n.kind = call
		return p.sequence(n, ")")
	}
	return n, nil
}

// group reads what is in brackets.
func (p *parser) group() (*node, error) {
	pos := p.tok.pos
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.expression(levelOr)
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	n.pos, n.end = pos, p.last
	return n, nil
}

// sequence reads the values of a list or of a call, to the bracket that ends it.
func (p *parser) sequence(n *node, closing string) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	for p.tok.kind != symbol || p.tok.text != closing {
		if len(n.args) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		arg, err := p.expression(levelOr)
		if err != nil {
			return nil, err
		}
		n.args = append(n.args, arg)
	}
	err := p.advance()
	n.end = p.last
	return n, err
}
