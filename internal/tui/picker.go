package tui

import (
	"cmp"
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/picker"
	"callgate/internal/tui/termtext"
	"callgate/internal/tui/transcript"
)

// What a picker posts.
type (
	// pickedMsg is the conversation that the user chose; "": none.
	pickedMsg struct{ id string }
	// pickedModelMsg is the model that the user chose.
	pickedModelMsg struct{ name string }
)

// maxListed is how many conversations the kernel is asked for.
const maxListed = 200

// entryOf is a conversation as a line of a list.
func entryOf(t protocol.ConversationInfo, now time.Time) string {
	about := termtext.OneLine(t.App + "/" + t.Agent + " " + string(cmp.Or(t.Last, "running")) + " " + t.ID)
	return fmt.Sprintf("%-9s %s  %s", transcript.Duration(now.Sub(t.Updated)), termtext.OneLine(t.Title), about)
}

// conversationsMsg brings the kernel's conversations.
type conversationsMsg struct {
	list []protocol.ConversationInfo
	err  error
}

func listConversations(c *chat) tea.Cmd {
	return func() tea.Msg {
		list, err := c.opt.Kernel.Conversations(c.ctx, maxListed)
		return conversationsMsg{list, err}
	}
}

// pick lets the user choose among the other conversations in which something
// was said.
func (c *chat) pick(m conversationsMsg) {
	if m.err != nil {
		c.view.Fail(m.err)
		return
	}
	p := &picker.List{Title: "which conversation?", None: pickedMsg{}, Post: c.post}
	var ids []string
	for _, i := range m.list {
		if i.Turns > 0 && i.ID != c.conv.About.ID {
			ids, p.Entries = append(ids, i.ID), append(p.Entries, entryOf(i, c.opt.Now()))
		}
	}
	if len(ids) == 0 {
		c.view.Note("there are no other conversations yet")
		return
	}
	p.Picked = func(i int) tea.Msg { return pickedMsg{ids[i]} }
	c.openPicker(p)
}

// openPicker shows a list, and gives it the keyboard.
func (c *chat) openPicker(p *picker.List) {
	c.picker = p
	c.approvals.Blur()
	c.questions.Blur()
}

// openedMsg brings another conversation.
type openedMsg struct {
	conv OpenConversation
	err  error
}

// open closes this conversation and opens another one; "": a new one.
func (c *chat) open(id string) tea.Cmd {
	if c.view.Busy() {
		c.status.Hint = busyHint
		return nil
	}
	before := c.conv
	if id == "" && before.About.Single {
		c.status.Hint = "the app has one conversation with you here, and this is it; /compact makes room in it"
		return nil
	}
	return func() tea.Msg {
		conv, err := c.opt.Open(c.ctx, id)
		if err != nil {
			return openedMsg{err: err}
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), closeTimeout)
		defer cancel()
		_ = before.Close(ctx)
		return openedMsg{conv: conv}
	}
}

func (c *chat) switchTo(m openedMsg) tea.Cmd {
	if m.err != nil {
		c.view.Fail(m.err)
		return nil
	}
	c.setConversation(m.conv)
	return c.load()
}
