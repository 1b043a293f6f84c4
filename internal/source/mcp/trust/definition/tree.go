package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds. A number, true, false and null are literals.
const (
	Literal Kind = iota
	Text
	Array
	Object
)

// Node is a JSON value that keeps what a Go map would lose: keys that occur
// twice, and the spelling of numbers. The zero Node is an absent value.
type Node struct {
	Kind     Kind
	Text     string   // the value of a text, or the spelling of a literal
	Keys     []string // of an object, one for each child, in the order of the text
	Children []Node
}

var (
	errNotJSON = errors.New("it is not JSON")
	errTooDeep = errors.New("it is nested deeper than any schema needs")
)

// Parse reads one JSON value. No data and null are the absent value.
func Parse(data []byte) (Node, error) {
	if len(data) == 0 || string(bytes.TrimSpace(data)) == "null" {
		return Node{}, nil
	}
	if !utf8.Valid(data) || !json.Valid(data) {
		return Node{}, errNotJSON
	}
	r := reader{data: string(data)} // the nodes share its memory
	n := r.value(0)
	return n, r.err
}

// reader reads data that is known to be valid JSON.
type reader struct {
	data string
	pos  int
	err  error
}

// next skips white space and the separators between values, and returns the next
// byte.
func (r *reader) next() byte {
	for {
		switch c := r.data[r.pos]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
			r.pos++
		default:
			return c
		}
	}
}

func (r *reader) value(depth int) Node {
	if depth > maxDepth {
		r.err, r.pos = errTooDeep, len(r.data)-1
		return Node{}
	}
	switch r.next() {
	case '{':
		n := Node{Kind: Object}
		for r.pos++; r.err == nil && r.next() != '}'; {
			n.Keys = append(n.Keys, r.string())
			n.Children = append(n.Children, r.value(depth+1))
		}
		r.pos++
		return n
	case '[':
		n := Node{Kind: Array}
		for r.pos++; r.err == nil && r.next() != ']'; {
			n.Children = append(n.Children, r.value(depth+1))
		}
		r.pos++
		return n
	case '"':
		return Node{Kind: Text, Text: r.string()}
	}
	from := r.pos
	for r.pos < len(r.data) && !endsLiteral(r.data[r.pos]) {
		r.pos++
	}
	return Node{Text: r.data[from:r.pos]}
}

func endsLiteral(c byte) bool {
	return c == ',' || c == ']' || c == '}' || c <= ' '
}

func (r *reader) string() string {
	r.next()
	from, escaped := r.pos, false
	for r.pos++; r.data[r.pos] != '"'; r.pos++ {
		if r.data[r.pos] == '\\' {
			escaped = true
			r.pos++
		}
	}
	r.pos++
	if !escaped {
		return r.data[from+1 : r.pos-1]
	}
	var s string
	if err := json.Unmarshal([]byte(r.data[from:r.pos]), &s); err != nil {
		r.err = err
	}
	return s
}

// hasDuplicateKey reports whether the value, or one inside it, has a key twice.
func (n Node) hasDuplicateKey() bool {
	if len(n.Keys) > 8 {
		keys := slices.Sorted(slices.Values(n.Keys))
		if len(slices.Compact(keys)) < len(n.Keys) {
			return true
		}
	} else {
		for i, key := range n.Keys {
			if slices.Contains(n.Keys[:i], key) {
				return true
			}
		}
	}
	return slices.ContainsFunc(n.Children, Node.hasDuplicateKey)
}

// sorted returns the positions of an object's keys in sorted order; equal keys
// keep their order.
func (n Node) sorted() []int {
	order := make([]int, len(n.Keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(n.Keys[a], n.Keys[b]) })
	return order
}

// appendCanonical writes the value with its keys sorted and no white space.
func (n Node) appendCanonical(b []byte) []byte {
	switch n.Kind {
	case Text:
		return appendQuoted(b, n.Text)
	case Array:
		b = append(b, '[')
		for i, child := range n.Children {
			if i > 0 {
				b = append(b, ',')
			}
			b = child.appendCanonical(b)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i, at := range n.sorted() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendQuoted(b, n.Keys[at]), ':')
			b = n.Children[at].appendCanonical(b)
		}
		return append(b, '}')
	}
	if n.Text == "" {
		return append(b, "null"...)
	}
	return append(b, n.Text...)
}

func (n Node) canonical() string { return string(n.appendCanonical(nil)) }

// appendQuoted writes a text so that no two texts are written the same, even if
// they are not UTF-8.
func appendQuoted(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
