package tui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/describe"
	"callgate/internal/tui/picker"
)

// modelChooser is a conversation in which another model may answer. *client.Conversation
// is one.
type modelChooser interface {
	Models(ctx context.Context) ([]protocol.ModelChoice, error)
	SetModel(ctx context.Context, model string) (protocol.Conversation, error)
}

// modelsMsg brings the models that may answer.
type modelsMsg struct {
	conversation string
	list         []protocol.ModelChoice
	err          error
}

// modelSetMsg says which model answers now.
type modelSetMsg struct {
	conversation string
	now          protocol.Conversation
	err          error
}

// chooseModel is /model: it sets the model that is named, or lists them.
func chooseModel(c *chat, name string) tea.Cmd {
	conv, ok := c.conv.Conversation.(modelChooser)
	switch {
	case !ok:
		c.view.Note(describe.Model(c.conv.About) + "\nThis kernel does not change the model of a conversation.")
		return nil
	case name != "":
		return setModel(c, name)
	}
	id := c.conv.About.ID
	return func() tea.Msg {
		list, err := conv.Models(c.ctx)
		return modelsMsg{id, list, err}
	}
}

// setModel has another model answer. A turn that runs keeps its own.
func setModel(c *chat, name string) tea.Cmd {
	conv, ok := c.conv.Conversation.(modelChooser)
	if !ok {
		return nil
	}
	id := c.conv.About.ID
	return func() tea.Msg {
		now, err := conv.SetModel(c.ctx, name)
		return modelSetMsg{id, now, err}
	}
}

// pickModel lets the user choose among models.
func pickModel(c *chat, m modelsMsg) {
	switch {
	case m.conversation != c.conv.About.ID:
		return
	case m.err != nil:
		c.view.Fail(m.err)
		return
	case len(m.list) == 0:
		c.view.Note(describe.Model(c.conv.About) + "\nThe app names no other; /model PROVIDER/NAME asks for one.")
		return
	}
	p := &picker.List{
		Title: "which model answers from the next turn on?", Entries: describe.Choices(m.list),
		None: pickedMsg{}, Post: c.post,
	}
	p.At = max(0, slices.IndexFunc(m.list, func(choice protocol.ModelChoice) bool { return choice.Current }))
	p.Picked = func(i int) tea.Msg { return pickedModelMsg{m.list[i].Name} }
	c.openPicker(p)
}

// modelWasSet shows which model answers now.
func modelWasSet(c *chat, m modelSetMsg) {
	switch {
	case m.conversation != c.conv.About.ID:
	case m.err != nil:
		c.view.Fail(m.err)
	default:
		about := m.now
		about.Info = c.conv.About.Info
		c.conv.About = about
		c.status.Meter.Window = about.Window
		c.setPermissions(about.Permissions)
		c.view.Note("from the next turn on: " + describe.Model(about))
	}
}
