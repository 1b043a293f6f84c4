package tui

import (
	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/termtext"
)

// questioned puts what the agent asks before the user.
func (c *chat) questioned(q protocol.Question) tea.Cmd {
	c.questions.Show(q, c.composer.Empty() && c.picker == nil && !c.approvals.Focused())
	if q.State != protocol.QuestionPending {
		return nil
	}
	return c.callUser("the agent asks: " + termtext.OneLine(q.Question.Text))
}
