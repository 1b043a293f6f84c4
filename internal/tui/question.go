package tui

import (
	"strings"

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
	who := strings.TrimSpace("the agent " + termtext.OneLine(q.Asker.Path))
	return c.callUser(who + " asks: " + termtext.OneLine(q.Question.Text))
}
