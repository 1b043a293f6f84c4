package window

import (
	"bytes"
	"regexp"
	"strings"

	"callgate/tool"
)

// maxPattern is the most bytes of a pattern.
const maxPattern = 1000

// Pattern is what is looked for in output: a text, or a regular expression between
// slashes. The zero value is in everything.
type Pattern struct {
	text   []byte
	regexp *regexp.Regexp
}

// ParsePattern reads a pattern.
func ParsePattern(text string) (Pattern, error) {
	const op = "window.ParsePattern"
	switch {
	case text == "":
		return Pattern{}, tool.Errorf(op, tool.Invalid, "the pattern is empty").
			WithHint("write a part of what the output will say, or a regular expression between slashes: /listening on .*/")
	case len(text) > maxPattern:
		return Pattern{}, tool.Errorf(op, tool.Invalid, "the pattern has %d bytes, of at most %d", len(text), maxPattern)
	}
	inner, isRegexp := strings.CutPrefix(text, "/")
	inner, closed := strings.CutSuffix(inner, "/")
	if !isRegexp || !closed || inner == "" {
		return Pattern{text: []byte(text)}, nil
	}
	compiled, err := regexp.Compile("(?m)" + inner)
	if err != nil {
		return Pattern{}, tool.Errorf(op, tool.Invalid, "%q is no regular expression: %w", tool.Truncate(text), err).
			WithHint("mend it, or leave the slashes out to look for the text itself")
	}
	return Pattern{regexp: compiled}, nil
}

// In reports whether a text has the pattern.
func (p Pattern) In(text []byte) bool {
	if p.regexp != nil {
		return p.regexp.Match(text)
	}
	return bytes.Contains(text, p.text)
}
