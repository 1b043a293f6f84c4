package edit

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// level is a mapping in the text.
type level struct {
	entries []entry
	flow    bool // written in braces
	open    int  // of a flow mapping: where its { is, and its }
	close   int
	limit   int // of a block mapping: the line before which all of it stands
}

// entry is a key and its value in a mapping.
type entry struct {
	key   string
	node  ast.Node // the value
	start int      // where it begins, with its indentation in a block
	end   int      // where it ends, without its line end or its comma
	colon int      // where its colon ends, or its key when there is no colon
	comma int      // in braces: where the comma after it ends, or -1
	from  int      // in a block: its lines, with the comments that are indented below it
	to    int
}

// values is what a mapping of the tree holds.
func values(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

func isFlow(n ast.Node) bool {
	m, ok := n.(*ast.MappingNode)
	return ok && m.IsFlowStyle
}

func isNull(n ast.Node) bool {
	_, ok := n.(*ast.NullNode)
	return ok
}

// find is the index of an entry, or -1.
func (l level) find(key string) int {
	return slices.IndexFunc(l.entries, func(e entry) bool { return e.key == key })
}

// top is the file's own mapping. It reports whether the text holds what the
// tree says.
func (d *document) top() (level, bool) {
	if isFlow(d.root) {
		at := d.skip(0)
		for _, mark := range d.marks {
			if strings.HasPrefix(d.text[at:], "---") && d.starts[mark] == at {
				at = d.skip(at + 3)
			}
		}
		return d.braces(at, d.root)
	}
	limit := d.count()
	for _, mark := range slices.Backward(d.marks) {
		if first := values(d.root); len(first) > 0 && mark > first[0].Key.GetToken().Position.Line-1 {
			limit = mark
		}
	}
	return d.block(d.root, limit)
}

// within is the mapping that is the value of an entry. It reports false for a
// value that is no mapping, or that the text does not hold as the tree says; a
// null is an empty block.
func (d *document) within(l level, e entry) (level, bool) {
	switch {
	case isNull(e.node):
		return level{}, true
	case isFlow(e.node):
		return d.braces(d.skip(e.colon), e.node)
	case l.flow:
		return level{}, false
	}
	return d.block(e.node, e.to)
}

// block reads a mapping whose keys each begin a line, and which ends before
// the line limit.
func (d *document) block(n ast.Node, limit int) (level, bool) {
	pairs := values(n)
	l := level{limit: limit}
	for i, pair := range pairs {
		key, text := pair.Key.(*ast.StringNode)
		from, next := pair.Key.GetToken().Position.Line-1, limit
		if i+1 < len(pairs) {
			next = pairs[i+1].Key.GetToken().Position.Line - 1
		}
		if !text || from < 0 || from >= next || next > limit {
			return level{}, false
		}
		at := d.starts[from] + d.indent(from)
		colon, found := d.key(at, key.Value)
		if !found || d.text[colon-1] != ':' {
			return level{}, false
		}
		e := entry{key: key.Value, node: pair.Value, start: d.starts[from], colon: colon, comma: -1, from: from}
		e.to = d.last(from, next, keeps(pair.Value))
		e.end = d.end(e.to - 1)
		l.entries = append(l.entries, e)
	}
	return l, len(pairs) > 0
}

// last is the line after an entry: comments and blank lines that follow it are
// not its own, unless a comment is indented below its key, or its text keeps
// blank lines.
func (d *document) last(from, next int, keeps bool) int {
	to := next
	for to > from+1 && (d.blank(to-1) || d.isComment(to-1) && d.indent(to-1) <= d.indent(from)) {
		to--
	}
	for keeps && to < next && d.blank(to) {
		to++
	}
	return to
}

// keeps reports whether a value ends with a text that keeps the blank lines
// after it, like |+.
func keeps(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.LiteralNode:
		return strings.Contains(n.Start.Value, "+")
	case *ast.SequenceNode:
		return len(n.Values) > 0 && keeps(n.Values[len(n.Values)-1])
	}
	below := values(n)
	return len(below) > 0 && keeps(below[len(below)-1].Value)
}

// key finds where the colon after a key ends, or the key when it has none. It
// reports whether the key stands there.
func (d *document) key(at int, key string) (int, bool) {
	rest := d.text[at:]
	length := len(key)
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		length = quotedLength(rest)
	} else if !strings.HasPrefix(rest, key) {
		return 0, false
	}
	if length <= 0 {
		return 0, false
	}
	after := strings.TrimLeft(rest[length:], " \t")
	if strings.HasPrefix(after, ":") {
		return at + len(rest) - len(after) + 1, true
	}
	return at + length, true
}

// quotedLength is the length of the quoted text that s begins with, or 0.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] == '\'' && s[0] == '\'' && strings.HasPrefix(s[i+1:], "'"):
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return 0
}

// braces reads a flow mapping that begins at an offset.
func (d *document) braces(open int, n ast.Node) (level, bool) {
	l := level{flow: true, open: open}
	if !strings.HasPrefix(d.text[open:], "{") {
		return level{}, false
	}
	pairs := values(n)
	at := d.skip(open + 1)
	for i := 0; at < len(d.text) && d.text[at] != '}'; i++ {
		if i >= len(pairs) {
			return level{}, false
		}
		key, text := pairs[i].Key.(*ast.StringNode)
		if !text {
			return level{}, false
		}
		colon, found := d.key(at, key.Value)
		if !found {
			return level{}, false
		}
		e := entry{key: key.Value, node: pairs[i].Value, start: at, colon: colon, comma: -1}
		e.end, at = d.item(at)
		if at < len(d.text) && d.text[at] == ',' {
			e.comma = at + 1
			at = d.skip(at + 1)
		}
		l.entries = append(l.entries, e)
	}
	l.close = at
	return l, at < len(d.text) && len(l.entries) == len(pairs)
}

// item finds where an entry in braces ends, and the comma or brace after it.
func (d *document) item(at int) (end, next int) {
	plain := false // the text before this one is not quoted, and goes on
	for end = at; at < len(d.text); end = at {
		if at = d.skip(at); at == len(d.text) {
			break
		}
		switch c := d.text[at]; {
		case strings.IndexByte(",}]", c) >= 0:
			return end, at
		case c == '{' || c == '[':
			at, plain = d.closing(at), false
		case (c == '"' || c == '\'') && !plain:
			length := quotedLength(d.text[at:])
			if length == 0 {
				return end, len(d.text)
			}
			at += length
		default:
			at, plain = at+1, c != ':'
		}
	}
	return end, at
}

// closing is the end of the list or mapping that opens at an offset.
func (d *document) closing(at int) int {
	for at < len(d.text) {
		_, next := d.item(d.skip(at + 1))
		if at = next; at < len(d.text) && d.text[at] != ',' {
			return at + 1
		}
	}
	return at
}

// width is how far the file indents a level: as the blocks below tools are,
// or else as the first that is indented.
func (d *document) width() int {
	pairs := slices.Clone(values(d.root))
	slices.SortStableFunc(pairs, func(a, b *ast.MappingValueNode) int { return rank(a) - rank(b) })
	if w := d.step(pairs); w > 0 && !isFlow(d.root) {
		return w
	}
	return defaultWidth
}

const defaultWidth = 2

func rank(v *ast.MappingValueNode) int {
	if key, ok := v.Key.(*ast.StringNode); ok && key.Value == path[0] {
		return 0
	}
	return 1
}

// step is how far the first block below these keys is indented.
func (d *document) step(pairs []*ast.MappingValueNode) int {
	for _, pair := range pairs {
		below := values(pair.Value)
		if len(below) == 0 || isFlow(pair.Value) {
			continue
		}
		outer, inner := pair.Key.GetToken().Position.Line-1, below[0].Key.GetToken().Position.Line-1
		if inner < d.count() && outer >= 0 && d.indent(inner) > d.indent(outer) {
			return d.indent(inner) - d.indent(outer)
		}
	}
	return 0
}
