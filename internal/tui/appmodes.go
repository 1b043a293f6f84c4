package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/describe"
)

// appModeChooser is a conversation whose app may have modes. *client.Conversation is one.
type appModeChooser interface {
	SetAppMode(ctx context.Context, set protocol.SetAppMode) (protocol.Conversation, error)
}

// appModeMsg says in which mode of its app the conversation works now.
type appModeMsg struct {
	conversation string
	now          protocol.Conversation
	err          error
}

// setOrShowAppMode is /app-mode: it lists the modes of the app, or changes to one.
func setOrShowAppMode(c *chat, name string) tea.Cmd {
	conv, ok := c.conv.Conversation.(appModeChooser)
	if name == "" || !ok || c.conv.About.AppModes == nil {
		c.view.Note(describe.AppModes(c.conv.About))
		return nil
	}
	id, by := c.conv.About.ID, c.opt.By
	return func() tea.Msg {
		now, err := conv.SetAppMode(c.ctx, protocol.SetAppMode{Mode: name, By: by})
		return appModeMsg{id, now, err}
	}
}

// appModeWasSet shows the mode of the app.
func appModeWasSet(c *chat, m appModeMsg) {
	switch {
	case m.conversation != c.conv.About.ID:
	case m.err != nil:
		c.view.Fail(m.err)
	default:
		about := m.now
		about.Info = c.conv.About.Info
		c.conv.About = about
		c.view.Note(describe.AppModes(about))
	}
}
