// Package sidebar shows the goal and the tasks of an agent's working memory beside the
// conversation.
package sidebar

import (
	"strings"

	"callgate/internal/tui/termtext"
)

// Sidebar is the working memory. The zero value is an empty one.
type Sidebar struct{ lines []string }

// Empty reports whether there is nothing to show.
func (s *Sidebar) Empty() bool { return len(s.lines) == 0 }

// Set replaces the memory.
func (s *Sidebar) Set(memory string) {
	text := strings.TrimSpace(memory)
	text = strings.TrimSuffix(strings.TrimPrefix(text, "<working_memory>"), "</working_memory>")
	text = strings.TrimPrefix(strings.TrimSpace(text), "# Working memory")
	s.lines = nil
	if text = strings.TrimSpace(text); text != "" {
		s.lines = strings.Split(termtext.Safe(text), "\n")
	}
}

// Rows lays the memory out. The next task stands out, those done stand back.
func (s *Sidebar) Rows(width, height int) []string {
	out := []string{termtext.Accent(termtext.Truncate("plan", width))}
	for _, line := range s.lines {
		paint := func(s string) string { return s }
		switch {
		case strings.HasPrefix(line, "Goal:"):
			paint = termtext.Strong
		case strings.HasPrefix(line, "[x]"):
			paint = termtext.Faint
		case strings.HasPrefix(line, "[>]"), strings.Contains(line, "<- next"), strings.Contains(line, "← next"):
			paint = termtext.Accent
		case strings.HasPrefix(line, "[!]"):
			paint = termtext.Warn
		}
		for i, part := range termtext.Wrap(line, width-2) {
			if i > 0 {
				part = "  " + part
			}
			out = append(out, paint(part))
		}
	}
	if len(out) > height {
		out = append(out[:max(height-1, 0)], termtext.Faint("…"))
	}
	return out
}
