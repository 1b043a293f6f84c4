package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/tool"
)

// MaxBytes is how large a manifest may be.
const MaxBytes = 1 << 20

const (
	maxDepth    = 64 // objects and lists inside each other
	maxProblems = 20 // kept of one manifest
)

// Problem is one reason why a manifest does not load: where it is, what it is,
// and how to correct it.
type Problem struct {
	File   string
	Line   int // from 1; 0: the file as a whole
	Column int // from 1, in characters
	What   string
	Hint   string
}

// String writes the problem as a line that editors and terminals understand.
func (p Problem) String() string {
	text := p.Where() + ": " + p.What
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// Where writes the problem's place.
func (p Problem) Where() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// printable replaces control characters: texts of a manifest are shown on a
// terminal.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return unicode.ReplacementChar
		}
		return c
	}, text)
}

// report collects the problems of one manifest.
type report struct {
	file     string
	data     []byte
	problems []Problem
}

// whole is the place of the file itself.
const whole = -1

// fail adds a problem at a byte of the file. Each place has only one problem, the
// first that was found.
func (r *report) fail(at int, hint, format string, args ...any) {
	if len(r.problems) == maxProblems {
		return
	}
	p := Problem{File: r.file, What: printable(fmt.Sprintf(format, args...)), Hint: printable(hint)}
	p.Line, p.Column = r.place(at)
	same := func(q Problem) bool { return q.Line == p.Line && q.Column == p.Column }
	if !slices.ContainsFunc(r.problems, same) {
		r.problems = append(r.problems, p)
	}
}

// place is the line and the column of a byte.
func (r *report) place(at int) (line, column int) {
	if at == whole {
		return 0, 0
	}
	before := r.data[:min(at, len(r.data))]
	lastLine := before[bytes.LastIndexByte(before, '\n')+1:]
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(lastLine) + 1
}

// kind is the kind of a JSON value, as messages name it.
type kind string

const (
	object kind = "an object"
	list   kind = "a list"
	text   kind = "text"
	number kind = "a number"
	truth  kind = "true or false"
	null   kind = "null"
)

// node is a JSON value and its place.
type node struct {
	kind    kind
	at, end int    // its bytes in the file
	text    string // of a text or a number
	yes     bool
	members []member // of an object
	items   []*node  // of a list
}

// member is one key of an object and its value.
type member struct {
	key   string
	at    int
	value *node
}

// get returns the value of a key, or nil.
func (n *node) get(key string) *node {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// parse reads the text as one JSON value, or reports why it is not one. A key
// that occurs twice is a problem wherever it is: programs differ in which of the
// two values they read.
func (r *report) parse() *node {
	switch {
	case len(r.data) > MaxBytes:
		r.fail(whole, fmt.Sprintf("keep it below %d KiB", MaxBytes>>10), "the manifest is too large")
		return nil
	case bytes.HasPrefix(r.data, []byte("\xef\xbb\xbf")):
		r.fail(0, "save the file as UTF-8 without one", "the file begins with a byte order mark")
		return nil
	case len(bytes.TrimSpace(r.data)) == 0:
		r.fail(whole, `write {"llm": {…}, "runtime": {…}}`, "the manifest is empty")
		return nil
	}
	if i := invalidUTF8(r.data); i >= 0 {
		r.fail(i, "save the file as UTF-8", "this is not UTF-8")
		return nil
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(r.data, new(json.RawMessage)); errors.As(err, &syntax) {
		if strings.Contains(syntax.Error(), "unexpected end") {
			r.fail(len(r.data), "a bracket, a brace or a quote is not closed", "the JSON ends too early")
		} else {
			r.misspelt(max(int(syntax.Offset)-1, 0))
		}
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(r.data))
	dec.UseNumber()
	return r.value(dec, 0)
}

// invalidUTF8 returns the place of the first byte that is not UTF-8, or -1.
func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// misspelt reports text that is not JSON, with a hint for the usual mistakes.
func (r *report) misspelt(at int) {
	c, _ := utf8.DecodeRune(r.data[at:])
	before := bytes.TrimRight(r.data[:at], " \t\r\n")
	hint := "look at the quotes, commas and brackets around it"
	switch {
	case c == '/' || c == '#':
		hint = "JSON has no comments; delete it"
	case c == '\'':
		hint = "JSON puts texts in double quotes"
	case (c == '}' || c == ']') && bytes.HasSuffix(before, []byte(",")):
		hint = "delete the comma before it"
	case c == '"' && len(before) > 0 && bytes.IndexByte([]byte(`"}]el0123456789`), before[len(before)-1]) >= 0:
		hint = "a comma or a colon is missing before it"
	case c == '\n' || c == '\t':
		hint = `a text is not closed, or holds this as itself; write \n or \t`
	}
	r.fail(at, hint, "this is not JSON: %q does not belong here", c)
}

// value reads the next value of a text that is known to be JSON.
func (r *report) value(dec *json.Decoder, depth int) *node {
	n := &node{at: r.next(dec)}
	token, err := dec.Token()
	if err != nil || depth > maxDepth {
		r.fail(n.at, fmt.Sprintf("at most %d objects and lists may stand inside each other", maxDepth),
			"this is nested too deeply")
		return nil
	}
	ok := true
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			n.kind, ok = object, r.membersOf(dec, n, depth)
		} else {
			n.kind, ok = list, r.itemsOf(dec, n, depth)
		}
	case string:
		n.kind, n.text = text, v
	case json.Number:
		n.kind, n.text = number, v.String()
	case bool:
		n.kind, n.yes = truth, v
	default:
		n.kind = null
	}
	if !ok {
		return nil
	}
	n.end = int(dec.InputOffset())
	return n
}

// membersOf reads the members of an object whose brace has been read.
func (r *report) membersOf(dec *json.Decoder, n *node, depth int) bool {
	first := map[string]int{}
	for dec.More() {
		m := member{at: r.next(dec)}
		token, _ := dec.Token()
		m.key, _ = token.(string)
		if m.value = r.value(dec, depth+1); m.value == nil {
			return false
		}
		if at, twice := first[m.key]; twice {
			line, _ := r.place(at)
			r.fail(m.at, fmt.Sprintf("keep one of the two; the first is on line %d", line),
				"the key %s stands here a second time", quote(m.key))
			continue
		}
		first[m.key] = m.at
		n.members = append(n.members, m)
	}
	_, err := dec.Token()
	return err == nil
}

// itemsOf reads the items of a list whose bracket has been read.
func (r *report) itemsOf(dec *json.Decoder, n *node, depth int) bool {
	for dec.More() {
		item := r.value(dec, depth+1)
		if item == nil {
			return false
		}
		n.items = append(n.items, item)
	}
	_, err := dec.Token()
	return err == nil
}

// next returns the place of the decoder's next token.
func (r *report) next(dec *json.Decoder) int {
	at := int(dec.InputOffset())
	return at + len(r.data[at:]) - len(bytes.TrimLeft(r.data[at:], " \t\r\n,:"))
}

// raw returns a value as it was written, without white space.
func (r *report) raw(n *node) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, r.data[n.at:n.end]); err != nil {
		return nil
	}
	return b.Bytes()
}

// quote quotes a part of a file in a sentence.
func quote(s string) string { return fmt.Sprintf("%q", tool.TruncateTo(s, 60)) }
