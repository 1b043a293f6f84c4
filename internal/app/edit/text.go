package edit

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"
)

const bom = "\ufeff"

// sourceText is a text with its lines and comments. It is never rendered anew:
// an edit is a list of splices, so what no splice covers stays as it is.
type sourceText struct {
	mark     string // a byte order mark, or nothing
	text     string
	starts   []int // where each line begins, and the end of the text
	eol      string
	comments []int // where comments begin, in order
	marks    []int // the lines of --- and ...
}

// splice puts a text in the place of another.
type splice struct {
	from, to int
	with     string
}

func newSourceText(data []byte) *sourceText {
	s := &sourceText{text: string(data)}
	if text, found := strings.CutPrefix(s.text, bom); found {
		s.mark, s.text = bom, text
	}
	s.split()
	return s
}

// split finds the lines, and how they end.
func (s *sourceText) split() {
	s.starts = []int{0}
	for i := 0; i < len(s.text); i++ {
		end := ""
		switch {
		case strings.HasPrefix(s.text[i:], "\r\n"):
			end = "\r\n"
		case s.text[i] == '\n' || s.text[i] == '\r':
			end = s.text[i : i+1]
		default:
			continue
		}
		i += len(end) - 1
		s.starts = append(s.starts, i+1)
		if s.eol == "" {
			s.eol = end
		}
	}
	if s.eol == "" {
		s.eol = "\n"
	}
	if last := s.starts[len(s.starts)-1]; last < len(s.text) {
		s.starts = append(s.starts, len(s.text))
	}
}

// note keeps the positions of comments and document marks. It reports whether
// the text holds the token as the library says.
func (s *sourceText) note(t *token.Token) bool {
	line := t.Position.Line - 1
	switch t.Type {
	case token.DocumentHeaderType, token.DocumentEndType:
		s.marks = append(s.marks, line)
	case token.CommentType:
		if line < 0 || line >= s.count() {
			return false
		}
		end := s.end(line)
		for end > s.starts[line] && s.text[end-1] == ' ' && !strings.HasSuffix(t.Value, " ") {
			end-- // the library trims some
		}
		at := end - len(t.Value) - 1
		if at < s.starts[line] || s.text[at:end] != "#"+t.Value {
			return false
		}
		s.comments = append(s.comments, at)
	}
	return true
}

// count is the number of lines.
func (s *sourceText) count() int { return len(s.starts) - 1 }

// end is where a line ends, without its line end.
func (s *sourceText) end(line int) int {
	end := s.starts[line+1]
	for end > s.starts[line] && (s.text[end-1] == '\n' || s.text[end-1] == '\r') {
		end--
	}
	return end
}

func (s *sourceText) line(line int) string { return s.text[s.starts[line]:s.end(line)] }

// lineOf is the line of an offset.
func (s *sourceText) lineOf(at int) int {
	line, exact := slices.BinarySearch(s.starts, at)
	if !exact || line == s.count() {
		line--
	}
	return max(line, 0)
}

// indent is how far a line is indented.
func (s *sourceText) indent(line int) int {
	text := s.line(line)
	return len(text) - len(strings.TrimLeft(text, " "))
}

func (s *sourceText) blank(line int) bool { return strings.TrimSpace(s.line(line)) == "" }

// blanks is the longest run of blank lines.
func (s *sourceText) blanks() (longest int) {
	run := 0
	for line := range s.count() {
		if run++; !s.blank(line) {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// commented reports whether a comment begins within a part of the text.
func (s *sourceText) commented(from, to int) bool {
	i, _ := slices.BinarySearch(s.comments, from)
	return i < len(s.comments) && s.comments[i] < to
}

// comment is where the comment of a line begins, or where the line ends.
func (s *sourceText) comment(line int) int {
	i, _ := slices.BinarySearch(s.comments, s.starts[line])
	if i < len(s.comments) && s.comments[i] < s.starts[line+1] {
		return s.comments[i]
	}
	return s.end(line)
}

// isComment reports whether a line is a comment and nothing else.
func (s *sourceText) isComment(line int) bool {
	at := s.comment(line)
	return at < s.end(line) && strings.TrimSpace(s.text[s.starts[line]:at]) == ""
}

// skip is the next offset that is neither white space nor comment.
func (s *sourceText) skip(at int) int {
	for at < len(s.text) {
		switch _, comment := slices.BinarySearch(s.comments, at); {
		case comment:
			at = s.end(s.lineOf(at))
		case strings.IndexByte(" \t\r\n", s.text[at]) >= 0:
			at++
		default:
			return at
		}
	}
	return at
}

// insert puts lines before a line, or after the last.
func (s *sourceText) insert(line int, lines []string) splice {
	return splice{s.starts[line], s.starts[line], strings.Join(lines, s.eol) + s.eol}
}

// cut removes lines.
func (s *sourceText) cut(from, to int) splice { return splice{s.starts[from], s.starts[to], ""} }

// apply makes the edit. A text that does not end with a line end stays so.
func (s *sourceText) apply(splices []splice) []byte {
	slices.SortStableFunc(splices, func(a, b splice) int { return a.from - b.from })
	out, done := "", 0
	for _, p := range splices {
		out += s.text[done:p.from]
		if p.from == len(s.text) && ended(p.with) && out != "" && !ended(out) {
			out += s.eol
		}
		out += p.with
		done = p.to
	}
	out += s.text[done:]
	if s.text != "" && !ended(s.text) && ended(out) {
		out = strings.TrimSuffix(strings.TrimSuffix(out, "\n"), "\r")
	}
	return []byte(s.mark + out)
}

// ended reports whether a text ends with a line end.
func ended(s string) bool { return strings.HasSuffix(s, "\n") || strings.HasSuffix(s, "\r") }
