package approvals

import (
	tea "charm.land/bubbletea/v2"

	"callgate/internal/client/editpreview"
	"callgate/internal/linediff"
)

// previewMsg brings the change that a call would make.
type previewMsg struct {
	item  *item
	lines []linediff.Line
}

// loadPreview computes the change that a call would make in a file as it is now.
// The file may change again before the call runs.
func (p *Pane) loadPreview(it *item) tea.Cmd {
	if !editpreview.Changes(it.Approval) {
		return nil
	}
	read := p.ReadFile
	return func() tea.Msg {
		if lines := editpreview.Lines(it.Approval, read); lines != nil {
			return previewMsg{it, lines}
		}
		return nil
	}
}
