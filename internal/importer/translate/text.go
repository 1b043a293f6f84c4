package translate

import (
	"regexp"
	"strings"
)

// Text is a text as an app file has it, where {{ begins a variable: a literal {{
// is doubled, and a brace right before a variable stands in quotes.
type Text struct {
	b        strings.Builder
	literal  strings.Builder
	reserved bool
}

// Literal adds plain text.
func (t *Text) Literal(s string) { t.literal.WriteString(s) }

// Variable adds {{name}}.
func (t *Text) Variable(name string) {
	t.flush(true)
	t.b.WriteString("{{" + name + "}}")
}

// String is the text as it is written.
func (t *Text) String() string {
	t.flush(false)
	return t.b.String()
}

// Reserved reports whether a literal part would be taken for a secret of
// Callgate's.
func (t *Text) Reserved() bool { return t.reserved }

var reserved = regexp.MustCompile(`\{\{\s*secret\.`)

// flush writes the literal part that has been added, before a variable or not.
func (t *Text) flush(before bool) {
	s := t.literal.String()
	t.literal.Reset()
	t.reserved = t.reserved || reserved.MatchString(s)
	doubled := Escape(s)
	run := len(s) - len(strings.TrimRight(s, "{"))
	if before && run%2 == 1 {
		doubled = doubled[:len(doubled)-1] + "{{'{'}}"
	}
	t.b.WriteString(doubled)
}

// Escape is a text that holds no variable, as an app file writes it.
func Escape(s string) string { return strings.ReplaceAll(s, "{{", "{{{{") }
