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

// picker is the list from which a conversation is chosen.
type picker struct {
	list []protocol.ConversationInfo
	at   int
}

// maxListed is how many conversations one can choose from.
const maxListed = 200

// conversationsMsg is the conversations that there are.
type conversationsMsg struct {
	list []protocol.ConversationInfo
	err  error
}

func (c *chat) askSessions() tea.Cmd {
	return func() tea.Msg {
		list, err := c.Kernel.Conversations(c.ctx, maxListed)
		return conversationsMsg{list, err}
	}
}

// choose shows the conversations in which something was said.
func (c *chat) choose(l conversationsMsg) {
	if l.err != nil {
		c.wrong(l.err)
		return
	}
	p := &picker{}
	for _, i := range l.list {
		if i.Turns > 0 && i.ID != c.conv.About.ID {
			p.list = append(p.list, i)
		}
	}
	if len(p.list) == 0 {
		c.note("there are no other conversations yet")
		return
	}
	c.picker, c.approvals.focus = p, false
}

func (c *chat) picking(key string) tea.Cmd {
	p := c.picker
	switch key {
	case "up", "ctrl+p", "k":
		p.at = max(p.at-1, 0)
	case "down", "ctrl+n", "j":
		p.at = min(p.at+1, len(p.list)-1)
	case "pgup":
		p.at = max(p.at-8, 0)
	case "pgdown":
		p.at = min(p.at+8, len(p.list)-1)
	case "esc", "q":
		c.picker = nil
	case "enter":
		c.picker = nil
		return c.open(p.list[p.at].ID)
	}
	return nil
}

// rows are the lines of the list that fit.
func (p *picker) rows(now time.Time, width, height int) []string {
	out := []string{termtext.Accent(termtext.Truncate("which conversation? up, down, enter; esc goes back", width))}
	height = max(height-1, 1)
	from := max(0, min(p.at-height/2, len(p.list)-height))
	for i := from; i < len(p.list) && i < from+height; i++ {
		t := p.list[i]
		last := string(cmp.Or(t.Last, "broken off"))
		line := fmt.Sprintf("%-9s %s  %s", transcript.Duration(now.Sub(t.Updated)), termtext.OneLine(t.Title), termtext.OneLine(t.App+"/"+t.Agent+" "+last+" "+t.ID))
		if i == p.at {
			out = append(out, termtext.Accent(termtext.Truncate("▸ "+line, width)))
		} else {
			out = append(out, termtext.Faint(termtext.Truncate("  "+line, width)))
		}
	}
	return out
}

// openedMsg is another conversation, open.
type openedMsg struct {
	talk OpenConversation
	err  error
}

// open leaves this conversation for another one, or for a new one.
func (c *chat) open(id string) tea.Cmd {
	if c.turn != nil {
		c.screen.hint = "a turn is under way: esc stops it"
		return nil
	}
	left := c.conv
	return func() tea.Msg {
		talk, err := c.Options.Open(c.ctx, id)
		if err != nil {
			return openedMsg{err: err}
		}
		after, done := context.WithTimeout(context.WithoutCancel(c.ctx), closing)
		defer done()
		_ = left.Close(after)
		return openedMsg{talk: talk}
	}
}

func (c *chat) switchTo(s openedMsg) tea.Cmd {
	if s.err != nil {
		c.wrong(s.err)
		return nil
	}
	if c.turn != nil { // something was said meanwhile
		c.turn.cancel()
		c.turn = nil
	}
	c.setConversation(s.talk)
	return c.arrive()
}
