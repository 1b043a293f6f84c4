package laxjson

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Node is a value that a model wrote.
type Node struct {
	Kind     byte   // '{', '[', '"', or 'w': a number, true, false or null
	Text     string // the contents of a string, or the JSON of a 'w'
	Keys     []string
	Children []*Node
	From, To int
	Open     bool // it broke off, or is broken
}

// Get returns the value of a key, or nil.
func (n *Node) Get(key string) *Node {
	for i, k := range n.Keys {
		if k == key {
			return n.Children[i]
		}
	}
	return nil
}

// Reader reads JSON values, and what models write for them: trailing commas, single
// and typographic quotes, names without quotes, literals of Python, unescaped line
// ends and backslashes, and quotes inside a string if no comma or bracket follows
// them. Valid JSON keeps its meaning.
type Reader struct {
	In    *Text
	Stops []string // markup that no value may contain
	Seal  bool     // the text ends with the value: open brackets are closed
	Round bool     // the value is an argument of a function
	depth int
}

// MaxDepth limits the nesting of values.
const MaxDepth = 100

// Value reads the value at i. If there is no complete value, it returns the part
// that was read, marked as open.
func (r *Reader) Value(i int) (*Node, bool) {
	i = r.In.Space(i)
	n := &Node{From: i, To: i, Open: true}
	if r.depth++; r.depth > MaxDepth {
		return n, false
	}
	defer func() { r.depth-- }()
	switch c := r.In.At(i); {
	case c == '{':
		return r.group(n, '}')
	case c == '[':
		return r.group(n, ']')
	case r.quote(i) != "":
		n.Kind = '"'
		var ok bool
		n.Text, n.To, ok = r.str(i, false)
		n.Open = !ok
		return n, ok
	default:
		return r.literal(n)
	}
}

// group reads an object or a list.
func (r *Reader) group(n *Node, end byte) (*Node, bool) {
	n.Kind = r.In.S[n.From]
	i := n.From + 1
	for {
		i = r.In.Space(i)
		n.To = i
		switch c := r.In.At(i); {
		case r.In.End(i):
			n.Open = !r.Seal
			return n, r.Seal
		case c == end:
			n.To, n.Open = i+1, false
			return n, true
		case c == ',' && len(n.Children) > 0:
			i++
			continue
		}
		if n.Kind == '{' {
			key, k, ok := r.key(i)
			if k = r.In.Space(k); !ok || r.In.At(k) != ':' {
				n.To = k
				return n, false
			}
			n.Keys, i = append(n.Keys, key), k+1
		}
		child, ok := r.Value(i)
		n.Children, n.To = append(n.Children, child), child.To
		if !ok {
			return n, false
		}
		i = r.In.Space(child.To)
		if c := r.In.At(i); c != ',' && c != end && !r.In.End(i) {
			n.To = i
			return n, false
		}
	}
}

func (r *Reader) key(i int) (string, int, bool) {
	if r.quote(i) != "" {
		return r.str(i, true)
	}
	k := i
	for !r.In.End(k) && (IsNameByte(r.In.S[k]) && r.In.S[k] != ':' || r.In.S[k] == '$') {
		k++
	}
	return r.In.S[i:k], k, k > i
}

// literal reads a number, true, false or null.
func (r *Reader) literal(n *Node) (*Node, bool) {
	i := n.From
	for !r.In.End(i) && strings.IndexByte(" \t\r\n,}]):<\"'", r.In.S[i]) < 0 {
		i++
	}
	n.Kind, n.To = 'w', i
	if r.In.End(i) && !r.Seal {
		return n, false // more of it may have been lost
	}
	switch w := r.In.S[n.From:i]; w {
	case "true", "True":
		n.Text = "true"
	case "false", "False":
		n.Text = "false"
	case "null", "None", "undefined":
		n.Text = "null"
	default:
		n.Text = number(w)
	}
	n.Open = n.Text == ""
	return n, !n.Open
}

// number returns the JSON of a number, or "".
func number(w string) string {
	if w == "" || strings.Trim(w, "0123456789+-.eE") != "" {
		return ""
	}
	if (w[0] == '-' || w[0] >= '0' && w[0] <= '9') && json.Valid([]byte(w)) {
		return w
	}
	f, err := strconv.ParseFloat(w, 64)
	leadingZero := strings.TrimLeft(w, "+-") != strings.TrimLeft(w, "+-0")
	if err != nil || math.IsInf(f, 0) || leadingZero && !strings.Contains(w, ".") {
		return "" // 007 is a name rather than a number
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// quote returns the mark that opens a string at i, or "".
func (r *Reader) quote(i int) string {
	switch c := r.In.At(i); c {
	case '"', '\'':
		for _, long := range []string{`"""`, `'''`} {
			if r.In.Has(i, long) {
				return long
			}
		}
		return string(c)
	case 0xE2, '<':
		for _, mark := range []string{"“", "”", "„", "‘", "’", gemmaQuote} {
			if r.In.Has(i, mark) {
				return mark
			}
		}
	}
	return ""
}

const gemmaQuote = `<|"|>`

// closing returns the marks that close a string.
func closing(mark string) []string {
	switch mark {
	case "“", "”", "„":
		return []string{"”", "“", `"`}
	case "‘", "’":
		return []string{"’", "‘", "'"}
	}
	return []string{mark}
}

// str reads a string. Its closing mark counts only where a string may end.
func (r *Reader) str(i int, key bool) (text string, end int, ok bool) {
	mark := r.quote(i)
	marks := closing(mark)
	exact := len(mark) > 1 && mark[0] < 0x80 // long marks are unambiguous
	var b strings.Builder
	for k := i + len(mark); ; {
		if r.In.End(k) {
			return b.String(), k, false
		}
		if r.In.S[k] == '\\' && mark != gemmaQuote {
			text, next := r.escape(k)
			b.WriteString(text)
			k = next
			continue
		}
		if next := r.In.After(k, marks); next > 0 && (exact || r.ends(next, key)) {
			return b.String(), next, true
		}
		from := k
		for k++; k < len(r.In.S) && r.In.S[k] != '\\' && !quoteBytes[r.In.S[k]]; {
			k++
		}
		b.WriteString(r.In.S[from:k])
	}
}

// quoteBytes are the first bytes of quotation marks.
var quoteBytes = [256]bool{'"': true, '\'': true, '<': true, 0xE2: true}

// ends reports whether a string may end before i.
func (r *Reader) ends(i int, key bool) bool {
	i = r.In.Space(i)
	if r.In.End(i) {
		return true
	}
	if key {
		return r.In.S[i] == ':'
	}
	c := r.In.S[i]
	return c == ',' || c == '}' || c == ']' || c == ')' && r.Round || r.In.After(i, r.Stops) > 0
}

// escape reads the escape at i. A backslash that begins no escape stands for itself.
func (r *Reader) escape(i int) (text string, end int) {
	switch c := r.In.At(i + 1); c {
	case '"', '\\', '/', '\'':
		return string(c), i + 2
	case 'b':
		return "\b", i + 2
	case 'f':
		return "\f", i + 2
	case 'n':
		return "\n", i + 2
	case 'r':
		return "\r", i + 2
	case 't':
		return "\t", i + 2
	case 'u':
		c, ok := r.hex(i + 2)
		if !ok {
			return `\`, i + 1
		}
		if utf16.IsSurrogate(c) && r.In.Has(i+6, `\u`) {
			if low, ok := r.hex(i + 8); ok && utf16.DecodeRune(c, low) != utf8.RuneError {
				return string(utf16.DecodeRune(c, low)), i + 12
			}
		}
		return string(c), i + 6
	}
	return `\`, i + 1
}

func (r *Reader) hex(i int) (rune, bool) {
	if r.In.End(i + 3) {
		return 0, false
	}
	n, err := strconv.ParseUint(r.In.S[i:i+4], 16, 16)
	return rune(n), err == nil
}

// JSON returns the value as JSON: its text in src if that is valid.
func (n *Node) JSON(src string) json.RawMessage {
	if n.To <= len(src) && n.From < n.To {
		if s := src[n.From:n.To]; json.Valid([]byte(s)) && utf8.ValidString(s) {
			return json.RawMessage(s)
		}
	}
	var b bytes.Buffer
	n.write(&b)
	return b.Bytes()
}

func (n *Node) write(b *bytes.Buffer) {
	switch n.Kind {
	case '"':
		b.Write(Quoted(n.Text))
	case '{', '[':
		b.WriteByte(n.Kind)
		for i, child := range n.Children {
			if i > 0 {
				b.WriteByte(',')
			}
			if n.Kind == '{' {
				b.Write(Quoted(n.Keys[i]))
				b.WriteByte(':')
			}
			child.write(b)
		}
		b.WriteByte(n.Kind + 2) // '{'+2 is '}', and '['+2 is ']'
	default:
		b.WriteString(n.Text)
	}
}

// Quoted returns text as a JSON string.
func Quoted(text string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil {
		return json.RawMessage(`""`)
	}
	return bytes.TrimSpace(b.Bytes())
}
