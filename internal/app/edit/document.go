package edit

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// What a text may hold for its outline to be drawn, as package app bounds it:
// the library takes time that grows with the square of each but the first.
const (
	maxBytes  = 1 << 20
	maxTokens = 10_000
	maxBlank  = 50
)

const bom = "\ufeff"

// document is a text and its outline. The text is never rendered anew: an
// edit is a list of splices, so what no splice covers stays as it is.
//
// Of the library's places only the lines are used, since its columns drift
// after quotes and escapes. What stands in a line is found by reading it, and
// an edit is refused where the line does not hold what the tree says.
type document struct {
	mark     string // a byte order mark, or nothing
	text     string
	starts   []int // where each line begins, and the end of the text
	eol      string
	comments []int // where comments begin, in order
	marks    []int // the lines of --- and ...
	root     ast.Node
	null     bool // the file is written to be nothing: null or ~
}

// splice puts a text in the place of another.
type splice struct {
	from, to int
	with     string
}

// outline reads a text's structure. It reports whether that could be done;
// package app has the words for why not.
func outline(data []byte) (d *document, ok bool) {
	d = &document{text: string(data)}
	if text, found := strings.CutPrefix(d.text, bom); found {
		d.mark, d.text = bom, text
	}
	d.split()
	if len(data) > maxBytes || d.blanks() > maxBlank {
		return nil, false
	}
	defer func() {
		if recover() != nil { // hostile text finds holes in every parser
			d, ok = nil, false
		}
	}()
	tokens := lexer.Tokenize(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(d.text))
	if len(tokens) > maxTokens || tokens.InvalidToken() != nil {
		return nil, false
	}
	for _, t := range tokens {
		if !d.note(t) {
			return nil, false
		}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, false
	}
	for _, doc := range file.Docs {
		if _, null := doc.Body.(*ast.NullNode); null {
			d.null = true
		} else if doc.Body != nil && d.root == nil {
			d.root = doc.Body
		}
	}
	return d, true
}

// split finds the lines, and how they end.
func (d *document) split() {
	d.starts = []int{0}
	for i := 0; i < len(d.text); i++ {
		end := ""
		switch {
		case strings.HasPrefix(d.text[i:], "\r\n"):
			end = "\r\n"
		case d.text[i] == '\n' || d.text[i] == '\r':
			end = d.text[i : i+1]
		default:
			continue
		}
		i += len(end) - 1
		d.starts = append(d.starts, i+1)
		if d.eol == "" {
			d.eol = end
		}
	}
	if d.eol == "" {
		d.eol = "\n"
	}
	if last := d.starts[len(d.starts)-1]; last < len(d.text) {
		d.starts = append(d.starts, len(d.text))
	}
}

// note keeps where a comment or a document's mark stands.
func (d *document) note(t *token.Token) bool {
	line := t.Position.Line - 1
	switch t.Type {
	case token.DocumentHeaderType, token.DocumentEndType:
		d.marks = append(d.marks, line)
	case token.CommentType:
		if line < 0 || line >= d.count() {
			return false
		}
		end := d.end(line)
		for end > d.starts[line] && d.text[end-1] == ' ' && !strings.HasSuffix(t.Value, " ") {
			end-- // the library trims some
		}
		at := end - len(t.Value) - 1
		if at < d.starts[line] || d.text[at:end] != "#"+t.Value {
			return false
		}
		d.comments = append(d.comments, at)
	}
	return true
}

// count is how many lines there are.
func (d *document) count() int { return len(d.starts) - 1 }

// end is where a line ends, without its line end.
func (d *document) end(line int) int {
	end := d.starts[line+1]
	for end > d.starts[line] && (d.text[end-1] == '\n' || d.text[end-1] == '\r') {
		end--
	}
	return end
}

func (d *document) line(line int) string { return d.text[d.starts[line]:d.end(line)] }

// lineOf is the line that a place is in.
func (d *document) lineOf(at int) int {
	line, exact := slices.BinarySearch(d.starts, at)
	if !exact || line == d.count() {
		line--
	}
	return max(line, 0)
}

// indent is how far a line is indented.
func (d *document) indent(line int) int {
	text := d.line(line)
	return len(text) - len(strings.TrimLeft(text, " "))
}

func (d *document) blank(line int) bool { return strings.TrimSpace(d.line(line)) == "" }

// blanks is the longest run of blank lines.
func (d *document) blanks() (longest int) {
	run := 0
	for line := range d.count() {
		if run++; !d.blank(line) {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// commented reports whether a comment begins within a part of the text.
func (d *document) commented(from, to int) bool {
	i, _ := slices.BinarySearch(d.comments, from)
	return i < len(d.comments) && d.comments[i] < to
}

// comment is where the comment of a line begins, or where the line ends.
func (d *document) comment(line int) int {
	i, _ := slices.BinarySearch(d.comments, d.starts[line])
	if i < len(d.comments) && d.comments[i] < d.starts[line+1] {
		return d.comments[i]
	}
	return d.end(line)
}

// isComment reports whether a line is a comment and nothing else.
func (d *document) isComment(line int) bool {
	at := d.comment(line)
	return at < d.end(line) && strings.TrimSpace(d.text[d.starts[line]:at]) == ""
}

// skip is the next place that is no white space and no comment.
func (d *document) skip(at int) int {
	for at < len(d.text) {
		switch _, comment := slices.BinarySearch(d.comments, at); {
		case comment:
			at = d.end(d.lineOf(at))
		case strings.IndexByte(" \t\r\n", d.text[at]) >= 0:
			at++
		default:
			return at
		}
	}
	return at
}

// insert puts lines before a line, or after the last.
func (d *document) insert(line int, lines []string) splice {
	return splice{d.starts[line], d.starts[line], strings.Join(lines, d.eol) + d.eol}
}

// cut takes lines out.
func (d *document) cut(from, to int) splice { return splice{d.starts[from], d.starts[to], ""} }

// apply makes the edit. A text whose last line does not end keeps that.
func (d *document) apply(splices []splice) []byte {
	slices.SortStableFunc(splices, func(a, b splice) int { return a.from - b.from })
	out, done := "", 0
	for _, s := range splices {
		out += d.text[done:s.from]
		if s.from == len(d.text) && ended(s.with) && out != "" && !ended(out) {
			out += d.eol
		}
		out += s.with
		done = s.to
	}
	out += d.text[done:]
	if d.text != "" && !ended(d.text) && ended(out) {
		out = strings.TrimSuffix(strings.TrimSuffix(out, "\n"), "\r")
	}
	return []byte(d.mark + out)
}

// ended reports whether a text ends with a line end.
func ended(s string) bool { return strings.HasSuffix(s, "\n") || strings.HasSuffix(s, "\r") }
