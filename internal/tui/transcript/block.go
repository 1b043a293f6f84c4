package transcript

import (
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/tui/termtext"
)

// UserText is a text of the user.
type UserText string

// Lines lays the text out after a mark.
func (w UserText) Lines(width int, _ bool) []string {
	lines := termtext.WrapList(termtext.Safe(strings.TrimRight(string(w), "\n")), width-2)
	for i, line := range lines {
		mark := "  "
		if i == 0 {
			mark = termtext.Accent("> ")
		}
		lines[i] = mark + termtext.Strong(line)
	}
	return lines
}

// Note is a remark of the kernel, or of the chat itself.
type Note struct {
	Text string
	Bad  bool // something went wrong
}

// Lines lays the note out.
func (n Note) Lines(width int, _ bool) []string {
	lines := termtext.WrapList(termtext.Safe(strings.TrimRight(n.Text, "\n")), width)
	for i, line := range lines {
		if n.Bad {
			lines[i] = termtext.Bad(line)
		} else {
			lines[i] = termtext.Faint(line)
		}
	}
	return lines
}

// Collapsible is a text behind a head line. It is shown when the block is open.
type Collapsible struct {
	Head string
	Text string
}

// Lines lays the head out and, if open, the text.
func (f *Collapsible) Lines(width int, open bool) []string {
	text := strings.Trim(f.Text, "\n")
	if !open {
		lines := amount.Of(strings.Count(text, "\n")+1, "line")
		head := fmt.Sprintf("▸ %s (%s; ctrl+o shows them)", termtext.OneLine(f.Head), lines)
		return []string{termtext.Faint(termtext.Truncate(head, width))}
	}
	lines := []string{termtext.Faint(termtext.Truncate("▾ "+termtext.OneLine(f.Head), width))}
	for _, line := range termtext.WrapList(termtext.Safe(text), width-2) {
		lines = append(lines, termtext.Faint("  "+line))
	}
	return lines
}
