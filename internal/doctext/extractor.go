package doctext

import (
	"context"
	"regexp"
	"strings"
)

// Extractor finds the definitions of a language that is not known here.
type Extractor struct {
	// Definition matches a line that begins one. Its first group, or the line, is the name.
	Definition *regexp.Regexp
	Comments   []string // how a line of a comment begins, which belongs to the definition below it
}

// ReadWith reads a text as code, by an extractor.
func ReadWith(ctx context.Context, name string, content []byte, l Limits, x Extractor) (*Document, error) {
	return read(ctx, name, content, l, &language{definition: x.Definition, comments: x.Comments, named: x.name})
}

func (x Extractor) name(line string) string {
	if m := x.Definition.FindStringSubmatch(line); len(m) > 1 && strings.TrimSpace(m[1]) != "" {
		return m[1]
	}
	return signature(line)
}
