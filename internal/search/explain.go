package search

import (
	"fmt"
	"slices"
	"strings"
)

// Why explains in one line why a tool was found: for each word of the query how
// and where it matched, the similarity of the meanings, and the
// tool's example that is like it.
func (h Hit) Why() string {
	type line struct {
		text   string
		fields []string
	}
	var lines []*line
	byWord := map[string]*line{}
	for _, m := range h.Matches {
		l := byWord[m.Word]
		if l == nil {
			l = &line{text: m.Word}
			if m.Found != "" && m.Found != m.Word {
				l.text += fmt.Sprintf(" → %s (%s)", m.Found, m.How)
			}
			byWord[m.Word] = l
			lines = append(lines, l)
		}
		if !slices.Contains(l.fields, m.Field) {
			l.fields = append(l.fields, m.Field)
		}
	}
	var parts []string
	for _, l := range lines {
		parts = append(parts, l.text+" in "+strings.Join(l.fields, ", "))
	}
	if h.Semantic > 0 {
		parts = append(parts, fmt.Sprintf("meaning %.2f", h.Semantic))
	}
	if h.Like != "" {
		parts = append(parts, fmt.Sprintf("like %q", h.Like))
	}
	if h.Part != "" {
		parts = append(parts, fmt.Sprintf("for %q", h.Part))
	}
	return strings.Join(parts, "; ")
}
