// Package redact takes what looks like a secret out of a text that is to be
// kept. It knows secrets by their looks alone; values that the kernel knows are
// taken out by the kernel's own scrubber, before.
//
// # Law
//
//   - In doubt it takes out: a note that lost a word can be written again, a
//     password that was kept cannot be taken back.
//   - What only refers to a secret stays: ${TOKEN}, {{secret.NAME}}, and plain
//     words such as "the password is required".
//   - Redacting a text twice changes it once.
package redact

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Mark stands where a secret stood.
const Mark = "[redacted]"

// Redactor takes secrets out of texts. It does not change; the zero value
// knows the usual looks.
type Redactor struct{ extra []*regexp.Regexp }

// New is a redactor that also takes out whatever the expressions match.
func New(expressions []string) (*Redactor, error) {
	r := &Redactor{}
	for _, text := range expressions {
		e, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("the pattern %q is not a regular expression: %w", text, err)
		}
		if e.MatchString("") {
			return nil, fmt.Errorf("the pattern %q matches where there is nothing", text)
		}
		r.extra = append(r.extra, e)
	}
	return r, nil
}

// Text returns a text without its secrets, and how many there were.
func (r *Redactor) Text(text string) (string, int) {
	count, folded := 0, strings.ToLower(text)
	for _, l := range patterns {
		if slices.ContainsFunc(l.needles, func(n string) bool { return strings.Contains(folded, n) }) {
			text = l.redact(text, &count)
		}
	}
	for _, e := range r.extra {
		text = pattern{expression: e}.redact(text, &count)
	}
	return text, count
}

// IsEmpty reports whether a text that was redacted says nothing any more.
func IsEmpty(text string) bool {
	return !strings.ContainsFunc(marks.ReplaceAllString(text, ""), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// marks are the places that this package or the kernel's scrubber left.
var marks = regexp.MustCompile(`\[redacted\]|\[secret [^\]\n]*\]`)

// pattern is one way that secrets look.
type pattern struct {
	needles    []string // in small letters; a text with none of them has nothing to find
	expression *regexp.Regexp
	keep       func(value string) bool // not a secret after all; may be nil
}

// redact puts the mark in the place of what the last group of the expression
// matched, or the whole of it where it has no groups.
func (l pattern) redact(text string, count *int) string {
	var b strings.Builder
	done := 0
	for _, at := range l.expression.FindAllStringSubmatchIndex(text, -1) {
		from, to := at[0], at[1]
		for i := len(at) - 2; i >= 2; i -= 2 {
			if at[i] >= 0 {
				from, to = at[i], at[i+1]
				break
			}
		}
		value := text[from:to]
		if from == to || strings.Contains(value, Mark) || strings.HasPrefix(value, "[secret ") || value == "[secret" || l.keep != nil && l.keep(value) {
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
