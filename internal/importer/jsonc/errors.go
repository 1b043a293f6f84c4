package jsonc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// phrases say what hujson refused, by a part of its message. A %s is what stands
// there.
var phrases = []struct{ part, says string }{
	{"parsing comment", "a comment begins with // or /*, and one with /* must end with */"},
	{"parsing string", "the text is not closed"},
	{"top-level value", "there is %s after the end of the value"},
	{"object after value", "a comma or } is expected, and there is %s"},
	{"after object value", "a comma or } is expected, and there is %s"},
	{"array after value", "a comma or ] is expected, and there is %s"},
	{"after array value", "a comma or ] is expected, and there is %s"},
	{"object after name", "a colon is expected behind the name, and there is %s"},
	{"after object name", "a colon is expected behind the name, and there is %s"},
	{"start of object name", "a name in double quotes or } is expected, and there is %s"},
	{"parsing value", "a name in double quotes or a value is expected, and there is %s"},
	{"start of value", "a name in double quotes or a value is expected, and there is %s"},
}

// syntaxError says what hujson refused, and where. The library tells the
// position in its message only. The error quotes no text of the file, which may
// be a secret.
func syntaxError(text []byte, err error) error {
	var line, column int
	if _, err := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); err != nil {
		line, column = 1, 1
	}
	at := offset(text, line, column)
	what := err.Error()
	if cause := errors.Unwrap(err); cause != nil {
		what = cause.Error()
	}
	if strings.Contains(what, "parsing string") { // the library points at the end of the file
		at = bytes.LastIndexByte(text, '"')
	}
	if literal, ok := strings.CutPrefix(what, "invalid literal: "); ok {
		return fail(at, "%s", badLiteral(literal))
	}
	for _, p := range phrases {
		if strings.Contains(what, p.part) {
			return fail(at, "%s", strings.ReplaceAll(p.says, "%s", seen(text[at:])))
		}
	}
	return fail(at, "%s", what)
}

// offset is where a line and a column are, at most the end of the text.
func offset(text []byte, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		at += bytes.IndexByte(text[at:], '\n') + 1
	}
	return min(at+column-1, len(text)-1)
}

// seen is what stands at the beginning of a text, in words.
func seen(text []byte) string {
	if len(bytes.TrimSpace(text)) == 0 {
		return "nothing more"
	}
	return fmt.Sprintf("%q", bytes.Runes(text[:min(len(text), 4)])[0])
}

// badLiteral says what is wrong with a text, a number or a word.
func badLiteral(literal string) string {
	switch {
	case literal[0] == '"' && strings.ContainsFunc(literal, func(c rune) bool { return c < ' ' }):
		return "the text that begins on this line is not closed, or holds a control character"
	case literal[0] == '"':
		return "the text has a backslash that means nothing"
	case strings.Contains("-0123456789", literal[:1]):
		return fmt.Sprintf("%.40q is no number", literal)
	}
	return "a value is expected, and there is " + seen([]byte(literal))
}
