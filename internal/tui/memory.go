package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/transcript"
)

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
