// Package sqltext splits SQL into tokens, to find quotes, comments and
// placeholders. It does not decide what a statement does: the database does.
//
// All databases have the same placeholders. Values in a list are ? in order, or
// $1, $2 … by number; values in an object are :name. Bind finds them outside
// quotes and comments and rewrites them for the database; a value never becomes
// part of the text. Postgres has operators with a question mark: there ?| and ?&
// are never placeholders, ?? is the operator ? beside placeholders, and ? is the
// operator in a text that has numbered or named placeholders.
package sqltext

import (
	"iter"
	"strings"
)

// Dialect is the SQL of one kind of database.
type Dialect uint8

// The dialects. MariaDB's is MySQL's.
const (
	SQLite Dialect = iota + 1
	Postgres
	MySQL
)

// Quote returns a name as a quoted identifier. No name can end its quotes.
func (d Dialect) Quote(name string) string {
	mark := `"`
	if d == MySQL {
		mark = "`"
	}
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

// kind is the kind of a token.
type kind uint8

const (
	space  kind = iota + 1 // white space, or a comment
	word                   // a name, a keyword or a number
	quoted                 // a text or a name in quotes
	mark                   // a possible placeholder
	end                    // a semicolon
	other                  // an operator or a bracket
)

// next returns the kind and the length of the first token of a text, which is not empty.
func (d Dialect) next(s string) (kind, int) {
	switch c := s[0]; {
	case isSpace(c):
		return space, 1 + run(s[1:], isSpace)
	case isWord(c):
		return d.wordFrom(s)
	case c == '\'' || c == '"' || c == '`' && d != Postgres:
		return quoted, quote(s, c, d == MySQL && c != '`')
	case c == '[' && d == SQLite:
		return quoted, until(s, "]", 1)
	case c == ';':
		return end, 1
	case c == '-' && d.dashes(s), c == '#' && d == MySQL:
		return space, d.lineComment(s)
	case c == '/' && strings.HasPrefix(s, "/*"):
		return d.comment(s)
	case c == '?' || c == ':' || c == '$':
		return d.markFrom(s)
	default:
		return other, 1
	}
}

func (d Dialect) wordFrom(s string) (kind, int) {
	n := run(s, func(c byte) bool { return isWord(c) || c == '$' })
	if d == Postgres && n == 1 && s[0]|0x20 == 'e' && len(s) > 1 && s[1] == '\'' {
		return quoted, 1 + quote(s[1:], '\'', true)
	}
	return word, n
}

// dashes reports whether s starts a comment; in MySQL 1--1 is a subtraction.
func (d Dialect) dashes(s string) bool {
	return strings.HasPrefix(s, "--") && (d != MySQL || len(s) == 2 || s[2] <= ' ')
}

// lineComment returns the length of a comment to the end of the line, which in Postgres
// is also a carriage return.
func (d Dialect) lineComment(s string) int {
	if i := strings.IndexByte(s, '\r'); i >= 0 && d == Postgres {
		return min(i+1, until(s, "\n", 1))
	}
	return until(s, "\n", 1)
}

// comment returns the token that starts with /*. Postgres nests comments. MySQL
// and MariaDB run what stands in /*! … */ and /*M! … */.
func (d Dialect) comment(s string) (kind, int) {
	if d == MySQL {
		for _, open := range []string{"/*!", "/*M!"} {
			if strings.HasPrefix(s, open) {
				return other, len(open) + run(s[len(open):], isDigit)
			}
		}
	}
	if d != Postgres {
		return space, until(s, "*/", 2)
	}
	for i, depth := 2, 1; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "/*"):
			depth, i = depth+1, i+1
		case strings.HasPrefix(s[i:], "*/"):
			if depth, i = depth-1, i+1; depth == 0 {
				return space, i + 1
			}
		}
	}
	return space, len(s)
}

// markFrom returns the token that starts with ?, : or $.
func (d Dialect) markFrom(s string) (kind, int) {
	rest := s[1:]
	switch digits := run(rest, isDigit); {
	case s[0] == '$' && digits > 0, s[0] == '?' && d == SQLite:
		return mark, 1 + digits
	case s[0] == '$':
		return d.dollar(s)
	case s[0] == ':' && rest != "" && (rest[0] == ':' || rest[0] == '='):
		return other, 2
	case s[0] == ':' && (rest == "" || !isWord(rest[0]) || isDigit(rest[0])):
		return other, 1
	case s[0] == ':':
		return mark, 1 + run(rest, isWord)
	case d == Postgres && rest != "" && rest[0] == '?':
		return mark, 2
	case d == Postgres && rest != "" && (rest[0] == '|' || rest[0] == '&'):
		return other, 2
	default:
		return mark, 1
	}
}

// dollar returns the token that starts with $: in Postgres, $tag$ … $tag$ quotes a text.
func (d Dialect) dollar(s string) (kind, int) {
	n := 1 + run(s[1:], isWord)
	if d != Postgres || n >= len(s) || s[n] != '$' {
		return other, 1
	}
	return quoted, until(s, s[:n+1], n+1)
}

// quote returns the length of a quoted token. A doubled quote stands for itself,
// and so does a quote after a backslash where backslashes escape. A quote that
// is not closed extends to the end.
func quote(s string, q byte, backslash bool) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && backslash:
			i++
		case s[i] != q:
		case i+1 < len(s) && s[i+1] == q:
			i++
		default:
			return i + 1
		}
	}
	return len(s)
}

// until returns the length of s through the first stop at or after from, or of all of s.
func until(s, stop string, from int) int {
	if from > len(s) {
		return len(s)
	}
	if i := strings.Index(s[from:], stop); i >= 0 {
		return from + i + len(stop)
	}
	return len(s)
}

func run(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// Words yields the names, keywords and numbers outside quotes and comments, in
// upper case.
func Words(d Dialect, text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			k, n := d.next(text)
			if k == word && !yield(strings.ToUpper(text[:n])) {
				return
			}
			text = text[n:]
		}
	}
}

// HasVersionComment reports whether a text for MySQL or MariaDB has a comment that the
// server runs or skips by its version: /*! … */ or /*M! … */. Its words are not to be relied on.
func HasVersionComment(text string) bool {
	for text != "" {
		k, n := MySQL.next(text)
		if k == other && strings.HasPrefix(text, "/*") {
			return true
		}
		text = text[n:]
	}
	return false
}

// First returns the first word of a text in upper case, or "".
func First(d Dialect, text string) string {
	for w := range Words(d, text) {
		return w
	}
	return ""
}

// Single reports whether a text is at most one statement. The bodies of
// triggers and routines contain semicolons, so Single takes a text that creates
// one for a single statement; the database itself refuses a second one.
func Single(d Dialect, text string) bool {
	created := First(d, text) == "CREATE"
	for ended := false; text != ""; {
		k, n := d.next(text)
		switch {
		case k == end:
			ended = true
		case k == space:
		case ended:
			return false
		case created && k == word && hasBody(text[:n]):
			return true
		}
		text = text[n:]
	}
	return true
}

func hasBody(w string) bool {
	switch strings.ToUpper(w) {
	case "TRIGGER", "FUNCTION", "PROCEDURE", "EVENT", "RULE", "PACKAGE":
		return true
	default:
		return false
	}
}
