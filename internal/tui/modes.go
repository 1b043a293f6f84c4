package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/describe"
)

// permitter is a conversation whose permissions can be changed. *client.Conversation
// is one.
type permitter interface {
	SetPermissions(ctx context.Context, set protocol.SetPermissions) (protocol.Permissions, error)
}

// permissionsReader is a conversation that says what it may do unasked: another kernel
// may have it now. *client.Conversation is one.
type permissionsReader interface {
	CurrentPermissions(ctx context.Context) (protocol.Permissions, error)
}

// loadPermissions asks what the conversation may do unasked now.
func loadPermissions(c *chat) tea.Cmd {
	conv, ok := c.conv.Conversation.(permissionsReader)
	if !ok {
		return nil
	}
	id := c.conv.About.ID
	return func() tea.Msg {
		now, err := conv.CurrentPermissions(c.ctx)
		if err != nil {
			return nil // what was known is shown until the next turn
		}
		return permissionsMsg{conversation: id, now: now}
	}
}

// permissionsMsg brings what the conversation may do unasked now.
type permissionsMsg struct {
	conversation string
	now          protocol.Permissions
	said         string // what the user changed
	err          error
}

// permit changes what the conversation may do unasked.
func permit(c *chat, set protocol.SetPermissions, said string) tea.Cmd {
	conv, ok := c.conv.Conversation.(permitter)
	if !ok {
		c.status.Hint = "this kernel has no permission modes"
		return nil
	}
	set.By = c.opt.By
	id := c.conv.About.ID
	return func() tea.Msg {
		now, err := conv.SetPermissions(c.ctx, set)
		return permissionsMsg{id, now, said, err}
	}
}

// showPermissions takes what is permitted now.
func showPermissions(c *chat, m permissionsMsg) {
	switch {
	case m.conversation != c.conv.About.ID:
	case m.err != nil:
		c.view.Fail(m.err)
	default:
		c.setPermissions(m.now)
		if m.said != "" {
			c.status.Hint = m.said
		}
	}
}

func (c *chat) setPermissions(now protocol.Permissions) {
	c.conv.About.Permissions = now
	c.status.Mode = now.Mode
}

// cycleMode is shift+tab.
func cycleMode(c *chat) tea.Cmd {
	mode := describe.NextMode(c.conv.About.Permissions.Mode)
	return permit(c, protocol.SetPermissions{Mode: mode}, string(mode)+": "+describe.ModeAbout(mode))
}

// togglePlan is /plan: it plans only or, the next time, asks again.
func togglePlan(c *chat) tea.Cmd {
	mode := protocol.ModePlan
	if c.conv.About.Permissions.Mode == mode {
		mode = protocol.ModeAsk
	}
	return permit(c, protocol.SetPermissions{Mode: mode}, string(mode)+": "+describe.ModeAbout(mode))
}

// setOrShowMode is /mode.
func setOrShowMode(c *chat, text string) tea.Cmd {
	mode := protocol.PermissionMode(strings.ToLower(text))
	switch {
	case text == "":
		c.view.Note(describe.Modes(c.conv.About))
		return nil
	case describe.ModeAbout(mode) == "":
		c.view.Bad("there is no mode " + text + "; there are ask, accept-edits and plan")
		return nil
	}
	return permit(c, protocol.SetPermissions{Mode: mode}, string(mode)+": "+describe.ModeAbout(mode))
}

// allow is /allow: calls that fit a pattern run unasked in this conversation.
func allow(c *chat, text string) tea.Cmd {
	if text == "" {
		c.view.Note("/allow TOOL, or /allow TOOL: PATTERN, lets calls like it run unasked in this conversation:\n" +
			"/allow shell: go test *\n/allow Write: src/**")
		return nil
	}
	return permit(c, protocol.SetPermissions{Allow: []string{text}}, "allowed in this conversation: "+text)
}
