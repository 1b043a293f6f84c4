package tui

import (
	"cmp"
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/termtext"
	"callgate/internal/tui/transcript"
)

// picker is a list from which the user chooses a conversation.
type picker struct {
	list []protocol.ConversationInfo
	at   int
	post func(tea.Msg)
}

// pickedMsg is the conversation that the user chose; "": none.
type pickedMsg struct{ id string }

// maxListed is how many conversations the kernel is asked for.
const maxListed = 200

// pageRows is how far a page key moves in the list.
const pageRows = 8

func (p *picker) key(name string) {
	switch name {
	case "up", "ctrl+p", "k":
		p.at = max(p.at-1, 0)
	case "down", "ctrl+n", "j":
		p.at = min(p.at+1, len(p.list)-1)
	case "pgup":
		p.at = max(p.at-pageRows, 0)
	case "pgdown":
		p.at = min(p.at+pageRows, len(p.list)-1)
	case "esc", "q":
		p.post(pickedMsg{})
	case "enter":
		p.post(pickedMsg{p.list[p.at].ID})
	}
}

// rows are the lines of the list that fit.
func (p *picker) rows(now time.Time, width, height int) []string {
	const title = "which conversation? up, down, enter; esc goes back"
	out := []string{termtext.Accent(termtext.Truncate(title, width))}
	height = max(height-1, 1)
	from := max(0, min(p.at-height/2, len(p.list)-height))
	for i := from; i < len(p.list) && i < from+height; i++ {
		t := p.list[i]
		last := string(cmp.Or(t.Last, "running"))
		about := termtext.OneLine(t.App + "/" + t.Agent + " " + last + " " + t.ID)
		line := fmt.Sprintf("%-9s %s  %s", transcript.Duration(now.Sub(t.Updated)), termtext.OneLine(t.Title), about)
		if i == p.at {
			out = append(out, termtext.Accent(termtext.Truncate("▸ "+line, width)))
		} else {
			out = append(out, termtext.Faint(termtext.Truncate("  "+line, width)))
		}
	}
	return out
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
		c.view.fail(m.err)
		return
	}
	p := &picker{post: c.post}
	for _, i := range m.list {
		if i.Turns > 0 && i.ID != c.conv.About.ID {
			p.list = append(p.list, i)
		}
	}
	if len(p.list) == 0 {
		c.view.note("there are no other conversations yet")
		return
	}
	c.picker = p
	c.approvals.Blur()
}

// openedMsg brings another conversation.
type openedMsg struct {
	conv OpenConversation
	err  error
}

// open closes this conversation and opens another one; "": a new one.
func (c *chat) open(id string) tea.Cmd {
	if c.view.busy() {
		c.status.hint = busyHint
		return nil
	}
	before := c.conv
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
		c.view.fail(m.err)
		return nil
	}
	c.setConversation(m.conv)
	return c.load()
}
