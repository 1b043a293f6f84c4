package surface

import (
	"bytes"
	"encoding/json"
	"iter"
)

// A JSON text is parsed once into a flat list of its values, each with its end, so
// that code that walks the list needs no checks. The parser is our own because a
// catalog has thousands of schemas, and a decoder that builds maps would lose the
// author's order.

// node is a value, or the key of a member. The members of an object follow it, key
// and value in turn; the elements of an array follow the array.
type node struct {
	kind       byte // one of { [ " 0 t f n
	escaped    bool // whether a string contains a backslash
	start, end int32
	next       int32 // the node after this value and its parts
}

const (
	maxDepth = 1_000   // levels of nesting
	maxText  = 1 << 28 // bytes
)

// jsonDocument is a parsed JSON text.
type jsonDocument struct {
	src   []byte
	nodes []node
	at    int
}

// read parses a whole text, and reports whether it is JSON.
func (d *jsonDocument) read(src []byte) bool {
	d.src, d.nodes, d.at = src, d.nodes[:0], 0
	if len(src) > maxText || !d.value(0) {
		return false
	}
	d.space()
	return d.at == len(src)
}

func (d *jsonDocument) space() {
	for d.at < len(d.src) {
		switch d.src[d.at] {
		case ' ', '\n', '\r', '\t':
			d.at++
		default:
			return
		}
	}
}

// eat skips one byte, if it is the next.
func (d *jsonDocument) eat(c byte) bool {
	if d.at < len(d.src) && d.src[d.at] == c {
		d.at++
		return true
	}
	return false
}

func (d *jsonDocument) value(depth int) bool {
	d.space()
	if d.at == len(d.src) || depth > maxDepth {
		return false
	}
	switch c := d.src[d.at]; c {
	case '{', '[':
		return d.container(c, depth)
	case '"':
		return d.text()
	case 't':
		return d.word("true")
	case 'f':
		return d.word("false")
	case 'n':
		return d.word("null")
	default:
		return d.number()
	}
}

// container parses an object or an array.
func (d *jsonDocument) container(open byte, depth int) bool {
	self, closing := len(d.nodes), open+2
	d.nodes = append(d.nodes, node{kind: open, start: int32(d.at)})
	d.at++
	d.space()
	if !d.eat(closing) {
		for more := true; more; {
			if open == '{' {
				d.space()
				if d.at == len(d.src) || d.src[d.at] != '"' || !d.text() {
					return false
				}
				d.space()
				if !d.eat(':') {
					return false
				}
			}
			if !d.value(depth + 1) {
				return false
			}
			d.space()
			more = d.eat(',')
		}
		if !d.eat(closing) {
			return false
		}
	}
	d.nodes[self].end, d.nodes[self].next = int32(d.at), int32(len(d.nodes))
	return true
}

// scalar adds the value that ends here.
func (d *jsonDocument) scalar(kind byte, escaped bool, start int) bool {
	next := int32(len(d.nodes) + 1)
	d.nodes = append(d.nodes, node{kind: kind, escaped: escaped, start: int32(start), end: int32(d.at), next: next})
	return true
}

func (d *jsonDocument) word(w string) bool {
	start := d.at
	if !bytes.HasPrefix(d.src[start:], []byte(w)) {
		return false
	}
	d.at += len(w)
	return d.scalar(w[0], false, start)
}

func (d *jsonDocument) text() bool {
	start, escaped := d.at, false
	for i := d.at + 1; i < len(d.src); i++ {
		switch c := d.src[i]; {
		case c == '"':
			d.at = i + 1
			return d.scalar('"', escaped, start)
		case c < ' ':
			return false
		case c == '\\':
			escaped = true
			i++
			if i == len(d.src) {
				return false
			}
			switch d.src[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if i+4 >= len(d.src) || !hex4(d.src[i+1:i+5]) {
					return false
				}
				i += 4
			default:
				return false
			}
		}
	}
	return false
}

func hex4(b []byte) bool {
	for _, c := range b {
		if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
			return false
		}
	}
	return true
}

func (d *jsonDocument) number() bool {
	start := d.at
	d.eat('-')
	if !d.eat('0') && !d.digits() {
		return false
	}
	if d.eat('.') && !d.digits() {
		return false
	}
	if d.eat('e') || d.eat('E') {
		if !d.eat('+') {
			d.eat('-')
		}
		if !d.digits() {
			return false
		}
	}
	return d.scalar('0', false, start)
}

// digits skips one digit or more.
func (d *jsonDocument) digits() bool {
	start := d.at
	for d.at < len(d.src) && '0' <= d.src[d.at] && d.src[d.at] <= '9' {
		d.at++
	}
	return d.at > start
}

// raw returns the text of a value.
func (d *jsonDocument) raw(i int) []byte { return d.src[d.nodes[i].start:d.nodes[i].end] }

// str returns the value of a string. It is valid until the next read.
func (d *jsonDocument) str(i int) []byte {
	n := d.nodes[i]
	if !n.escaped {
		return d.src[n.start+1 : n.end-1]
	}
	var s string
	if json.Unmarshal(d.raw(i), &s) != nil {
		return nil
	}
	return []byte(s)
}

// members yields the keys and values of an object; another value has none.
func (d *jsonDocument) members(i int) iter.Seq2[int, int] {
	return func(yield func(k, v int) bool) {
		if d.nodes[i].kind != '{' {
			return
		}
		for k := i + 1; k < int(d.nodes[i].next) && yield(k, k+1); {
			k = int(d.nodes[k+1].next)
		}
	}
}

// elements yields the elements of an array; another value has none.
func (d *jsonDocument) elements(i int) iter.Seq[int] {
	return func(yield func(v int) bool) {
		if d.nodes[i].kind != '[' {
			return
		}
		for v := i + 1; v < int(d.nodes[i].next) && yield(v); {
			v = int(d.nodes[v].next)
		}
	}
}

// member returns the value of an object's member, or -1. The last one counts, as in
// most decoders.
func (d *jsonDocument) member(i int, name string) int {
	found := -1
	for k, v := range d.members(i) {
		if string(d.str(k)) == name {
			found = v
		}
	}
	return found
}
