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

// Node is a value as a model wrote it.
type Node struct {
	Kind     byte   // '{', '[', '"', or 'w': a number, true, false or null
	Text     string // of a string, what it says; of a word, its JSON
	Keys     []string
	Children []*Node
	From, To int
	Open     bool // it broke off, or is broken
}

// Get is the value of a key, or nil.
func (n *Node) Get(key string) *Node {
	for i, k := range n.Keys {
		if k == key {
			return n.Children[i]
		}
	}
	return nil
}

// Reader reads values of JSON, and of what models take for it: trailing commas,
// single and typographic quotes, names without quotes, words of Python, line
// ends and backslashes that should have been escaped, and quotes inside a string
// as long as no comma or bracket follows them. Good JSON means the same to it.
type Reader struct {
	In    *Text
	Stops []string // markup that no value runs over
	Seal  bool     // the text ends with the value: brackets left open are closed
	Round bool     // the value stands among a function's arguments
	depth int
}

// MaxDepth is how deep values may be inside one another.
const MaxDepth = 100

// Value reads what stands at i. If that is no value it still returns what there
// is of one, open.
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
		kid, ok := r.Value(i)
		n.Children, n.To = append(n.Children, kid), kid.To
		if !ok {
			return n, false
		}
		i = r.In.Space(kid.To)
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

// literal reads a number or a word.
func (r *Reader) literal(n *Node) (*Node, bool) {
	i := n.From
	for !r.In.End(i) && strings.IndexByte(" \t\r\n,}]):<\"'", r.In.S[i]) < 0 {
		i++
	}
	n.Kind, n.To = 'w', i
	if r.In.End(i) && !r.Seal {
		return n, false // there may have been more of it
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

// number is the JSON of a number, or "".
func number(w string) string {
	if w == "" || strings.Trim(w, "0123456789+-.eE") != "" {
		return ""
	}
	if (w[0] == '-' || w[0] >= '0' && w[0] <= '9') && json.Valid([]byte(w)) {
		return w
	}
	f, err := strconv.ParseFloat(w, 64)
	if err != nil || math.IsInf(f, 0) || strings.TrimLeft(w, "+-") != strings.TrimLeft(w, "+-0") && !strings.Contains(w, ".") {
		return "" // 007 is a name rather than a number
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// quote is the mark that opens a string at i, or "".
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

// closing are the marks that close a string which a mark opened.
func closing(mark string) []string {
	switch mark {
	case "“", "”", "„":
		return []string{"”", "“", `"`}
	case "‘", "’":
		return []string{"’", "‘", "'"}
	}
	return []string{mark}
}

// str reads a string. Its mark closes it only where a string may end.
func (r *Reader) str(i int, key bool) (text string, end int, ok bool) {
	mark := r.quote(i)
	marks := closing(mark)
	exact := len(mark) > 1 && mark[0] < 0x80 // the long marks need no guess
	var b strings.Builder
	for k := i + len(mark); ; {
		if r.In.End(k) {
			return b.String(), k, false
		}
		if r.In.S[k] == '\\' && mark != gemmaQuote {
			words, next := r.escape(k)
			b.WriteString(words)
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

// quoteBytes are the bytes with which marks begin.
var quoteBytes = [256]bool{'"': true, '\'': true, '<': true, 0xE2: true}

// ends tells whether a string may end before i.
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

// escape reads what a backslash at i begins. One that begins nothing stands for
// itself.
func (r *Reader) escape(i int) (words string, end int) {
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

// JSON is the value as JSON: as it stands where that is good.
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
		for i, kid := range n.Children {
			if i > 0 {
				b.WriteByte(',')
			}
			if n.Kind == '{' {
				b.Write(Quoted(n.Keys[i]))
				b.WriteByte(':')
			}
			kid.write(b)
		}
		b.WriteByte(n.Kind + 2) // } follows { at two, and ] follows [
	default:
		b.WriteString(n.Text)
	}
}

// Quoted is text as a JSON string.
func Quoted(text string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil {
		return json.RawMessage(`""`)
	}
	return bytes.TrimSpace(b.Bytes())
}
