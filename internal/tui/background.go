package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// showTasks is /tasks.
func showTasks(c *chat, text string) tea.Cmd { return c.tasks.Command(text) }

// showAgents is /agents.
func showAgents(c *chat, text string) tea.Cmd { return c.agents.Command(c.conv.About.ID, text) }

// showWaiting is /waiting.
func showWaiting(c *chat) tea.Cmd { return c.waiting.Command(c.conv.About.ID) }

// showProposals is /proposals.
func showProposals(c *chat, text string) tea.Cmd { return c.proposals.Command(text) }

// undoFiles is /undo.
func undoFiles(c *chat, text string) tea.Cmd { return undoOrRewind(c, text, false) }

// rewind is /rewind.
func rewind(c *chat, text string) tea.Cmd { return undoOrRewind(c, text, true) }

func undoOrRewind(c *chat, text string, rewind bool) tea.Cmd {
	if c.view.Busy() {
		c.status.Hint = busyHint
		return nil
	}
	return c.undo.Command(text, rewind)
}

// mover is a conversation whose running calls can be moved to the background.
type mover interface {
	MoveToBackground(ctx context.Context, call string) error
}

// movedMsg says what became of moving a call to the background.
type movedMsg struct{ err error }

// moveToBackground has the newest call that runs go on in the background: the turn goes on
// without it, and is told of its end.
func moveToBackground(c *chat) tea.Cmd {
	conv, ok := c.conv.Conversation.(mover)
	call := ""
	if t := c.view.Turn; t != nil {
		call = t.NewestCall()
	}
	switch {
	case !ok:
		c.status.Hint = "this kernel does not move calls to the background"
		return nil
	case call == "":
		c.status.Hint = "no call runs that could go on in the background"
		return nil
	}
	return func() tea.Msg { return movedMsg{conv.MoveToBackground(c.ctx, call)} }
}

// moved says that a call goes on in the background, or why it does not.
func moved(c *chat, m movedMsg) tea.Cmd {
	if m.err != nil {
		c.view.Fail(m.err)
		return nil
	}
	c.status.Hint = "it goes on in the background: /tasks shows it"
	return c.tasks.Count()
}
