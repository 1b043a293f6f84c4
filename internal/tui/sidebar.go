package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/termtext"
	"callgate/internal/tui/transcript"
)

// sidebar shows the goal and the tasks in the working memory.
type sidebar struct{ lines []string }

// memoryMsg brings a conversation's working memory, as the model reads it.
type memoryMsg struct {
	conversation string
	memory       string
}

// usesMemory reports whether a call may have changed the memory.
func usesMemory(call protocol.AgentCall) bool {
	return strings.Contains(transcript.ToolName(call.Name), "memory.") ||
		strings.Contains(string(call.Args), `"memory.`)
}

// loadMemory reads the working memory out of a conversation's prompt.
func loadMemory(ctx context.Context, conv OpenConversation) tea.Cmd {
	return func() tea.Msg {
		p, err := conv.Prompt(ctx)
		if err != nil {
			return nil // the sidebar stays as it is until the next turn
		}
		m := memoryMsg{conversation: conv.About.ID, memory: p.Memory}
		for _, s := range p.Sections {
			if s.Name == "memory" {
				m.memory = s.Text
			}
		}
		return m
	}
}

// set replaces the memory.
func (s *sidebar) set(memory string) {
	text := strings.TrimSpace(memory)
	text = strings.TrimSuffix(strings.TrimPrefix(text, "<working_memory>"), "</working_memory>")
	text = strings.TrimPrefix(strings.TrimSpace(text), "# Working memory")
	s.lines = nil
	if text = strings.TrimSpace(text); text != "" {
		s.lines = strings.Split(termtext.Safe(text), "\n")
	}
}

// rows lays the memory out. The next task stands out, those done stand back.
func (s *sidebar) rows(width, height int) []string {
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
