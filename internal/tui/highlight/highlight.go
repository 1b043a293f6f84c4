// Package highlight finds in code what a reader's eye looks for: comments,
// keywords, names, strings and numbers.
//
// It knows the words and quotes of a language, not its grammar. That is enough
// for a screen, is done in one pass, and says something useful about code that
// is cut off or wrong. A language that it does not know is plain.
package highlight

import "strings"

// Class is what a piece of code is.
type Class uint8

// The classes.
const (
	Plain Class = iota
	Comment
	Keyword
	Name // of a function that is defined or called, of a key, of a tag
	String
	Number
	Deleted  // of a diff
	Inserted // of a diff
)

// Span is a piece of code of one class.
type Span struct {
	Text  string
	Class Class
}

// Code divides code into spans. Their texts together are the code.
func Code(language, code string) []Span {
	s := &scanner{code: code}
	switch language = strings.ToLower(language); language {
	case "diff", "patch":
		s.diff()
	case "html", "xml", "svg", "vue", "xhtml":
		s.markup()
	case "yaml", "yml":
		s.assignments(':', "#")
	case "toml", "ini", "conf", "properties", "env", "dotenv":
		s.assignments('=', "#;")
	default:
		if l, ok := languageOf(language); ok {
			s.language = l
			s.program()
		}
	}
	s.add(len(code), Plain)
	return s.spans
}

// scanner goes through code once.
type scanner struct {
	language
	code  string
	done  int // up to which the code is in spans
	at    int // the next byte to look at
	spans []Span
}

// add makes a span of the code from the last one up to a byte.
func (s *scanner) add(end int, c Class) {
	if end <= s.done {
		return
	}
	text := s.code[s.done:end]
	if n := len(s.spans); n > 0 && s.spans[n-1].Class == c {
		s.spans[n-1].Text = s.code[s.done-len(s.spans[n-1].Text) : end]
	} else {
		s.spans = append(s.spans, Span{text, c})
	}
	s.done = end
}

// mark gives a class to the next n bytes, and plain to what was passed over.
func (s *scanner) mark(n int, c Class) {
	s.add(s.at, Plain)
	s.at += n
	s.add(s.at, c)
}

func (s *scanner) rest() string { return s.code[s.at:] }

// lineEnd is the length of what is left of the line.
func lineEnd(text string) int {
	if n := strings.IndexByte(text, '\n'); n >= 0 {
		return n
	}
	return len(text)
}

// quoted is the length of a string from its quote on. It ends at the same quote,
// or with its line where it may not go on.
func quoted(text, quote string, escapes, lines bool) int {
	for i := len(quote); i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		case text[i] == '\n' && !lines:
			return i
		}
	}
	return len(text)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// wordLength is the length of the name at the beginning of a text.
func wordLength(text string) int {
	n := 0
	for n < len(text) && (isLetter(text[n]) || isDigit(text[n])) {
		n++
	}
	return n
}
