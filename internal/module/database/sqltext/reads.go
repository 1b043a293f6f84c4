package sqltext

import (
	"slices"
	"strings"
)

// readingWords are the first words of the statements that ask for rows, and do nothing
// else by themselves. What else a statement begins with is not read-only, whatever the
// database says of it: a read-only transaction of PostgreSQL runs the code of DO.
var readingWords = map[Dialect][]string{
	SQLite:   {"SELECT", "WITH", "VALUES", "EXPLAIN", "PRAGMA"},
	Postgres: {"SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN"},
	MySQL:    {"SELECT", "WITH", "VALUES", "TABLE", "SHOW", "DESCRIBE", "DESC", "EXPLAIN"},
}

// Reads says why a statement is not one that asks for rows; "" if it is. The database
// decides about the rest of it. An empty text is left to the database too.
func Reads(d Dialect, text string) (why string) {
	if blank(d, text) {
		return ""
	}
	for text != "" {
		k, n := d.next(text)
		switch {
		case k == space, k == other && text[:n] == "(":
			text = text[n:]
			continue
		case k != word:
			return "it does not begin with a word that asks for rows"
		}
		first := strings.ToUpper(text[:n])
		if slices.Contains(readingWords[d], first) {
			return ""
		}
		return first + " does not ask for rows"
	}
	return "it does not ask for rows"
}

// blank reports whether a text has nothing but white space, comments and semicolons.
func blank(d Dialect, text string) bool {
	for text != "" {
		k, n := d.next(text)
		if k != space && k != end {
			return false
		}
		text = text[n:]
	}
	return true
}

// Mentions returns the first of names, in lower case, that stands anywhere in a text: as a
// word, in quotes, or in a comment. A text with names or strings in which characters are
// escaped (U&"…") counts as one that mentions them all, since it may.
func Mentions(text string, names []string) string {
	lower := strings.ToLower(text)
	if strings.Contains(lower, `u&"`) || strings.Contains(lower, `u&'`) {
		return "U&"
	}
	for _, name := range names {
		if strings.Contains(lower, name) {
			return name
		}
	}
	return ""
}
