package tui

import (
	"testing"

	"callgate/internal/protocol"
)

// What an app offers to say is a command of its label, unless that is taken.
func TestQuickPromptsAreCommands(t *testing.T) {
	t.Parallel()
	own := len(newPalette(nil))
	p := withQuickPrompts(newPalette(nil), &protocol.AppAbout{QuickPrompts: []protocol.QuickPrompt{
		{Label: "Review it!", Message: "review the last change"}, {Label: "quit", Message: "x"}, {Label: "!", Message: "y"},
	}})
	if names := p.Names(); len(names) != own+1 || names[own].Name != "review-it" {
		t.Errorf("%+v", names[own:])
	}
	if run, ok := p.Find("/review-it"); !ok || run == nil {
		t.Error("it is not found")
	}
}
