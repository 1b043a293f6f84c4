// Package redact removes what looks like a secret from a text before it is stored.
// It recognizes secrets by their form alone; the kernel's own scrubber removes the
// values that the kernel knows before.
//
// # Law
//
//   - In doubt it removes: a note that lost a word can be written again, a stored
//     password cannot be taken back.
//   - What only refers to a secret stays: ${TOKEN}, {{secret.NAME}}, and plain
//     words such as "the password is required".
//   - Redacting a text a second time changes nothing.
package redact

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Mark replaces a secret.
const Mark = "[redacted]"

// Redactor removes secrets from texts. It is immutable; the zero value knows the
// common forms.
type Redactor struct{ extra []*regexp.Regexp }

// New returns a redactor that also removes what the expressions match.
func New(expressions []string) (*Redactor, error) {
	r := &Redactor{}
	for _, text := range expressions {
		e, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("the pattern %q is not a regular expression: %w", text, err)
		}
		if e.MatchString("") {
			return nil, fmt.Errorf("the pattern %q matches the empty text, so it would match everywhere", text)
		}
		r.extra = append(r.extra, e)
	}
	return r, nil
}

// Text returns a text without its secrets, and their number.
func (r *Redactor) Text(text string) (string, int) {
	count, folded := 0, strings.ToLower(text)
	for _, p := range patterns {
		if slices.ContainsFunc(p.needles, func(n string) bool { return strings.Contains(folded, n) }) {
			text = p.redact(text, &count)
		}
	}
	for _, e := range r.extra {
		text = pattern{expression: e}.redact(text, &count)
	}
	return text, count
}

// IsEmpty reports whether nothing but marks is left of a redacted text.
func IsEmpty(text string) bool {
	rest := marks.ReplaceAllString(text, "")
	return !strings.ContainsFunc(rest, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// marks matches what this package and the kernel's scrubber put in place of secrets.
var marks = regexp.MustCompile(`\[redacted\]|\[secret [^\]\n]*\]`)

// pattern is one form of secrets.
type pattern struct {
	needles    []string // in lower case; a text without any of them contains no match
	expression *regexp.Regexp
	keep       func(value string) bool // reports a match that is not a secret; may be nil
}

// redact replaces what the last group of the expression matched by the mark, or
// the whole match where the expression has no groups.
func (p pattern) redact(text string, count *int) string {
	var b strings.Builder
	done := 0
	for _, at := range p.expression.FindAllStringSubmatchIndex(text, -1) {
		from, to := at[0], at[1]
		for i := len(at) - 2; i >= 2; i -= 2 {
			if at[i] >= 0 {
				from, to = at[i], at[i+1]
				break
			}
		}
		value := text[from:to]
		replaced := strings.Contains(value, Mark) || strings.HasPrefix(value, "[secret ") || value == "[secret"
		if from == to || replaced || p.keep != nil && p.keep(value) {
			continue
		}
		b.WriteString(text[done:from] + Mark)
		done = to
		*count++
	}
	if done == 0 {
		return text
	}
	return b.String() + text[done:]
}
