package tui

import (
	"context"
	"iter"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
)

// attendant is a conversation that may go on by itself, as long as it is attended.
// *client.Conversation is one.
type attendant interface {
	Attend(ctx context.Context) iter.Seq[protocol.News]
	Wake(ctx context.Context) iter.Seq2[protocol.TurnEvent, error]
}

// newsMsg says that a conversation should go on by itself.
type newsMsg struct {
	conversation string
	news         protocol.News
	next         tea.Cmd // waits for what comes after it
}

// attend begins to attend the conversation, until another one is shown.
func attend(c *chat) tea.Cmd {
	conv, ok := c.conv.Conversation.(attendant)
	if !ok {
		return nil
	}
	ctx, leave := context.WithCancel(c.ctx)
	c.leaveConv = leave
	id, news := c.conv.About.ID, make(chan protocol.News)
	count := c.tasks.Count()
	go func() {
		defer close(news)
		for n := range conv.Attend(ctx) {
			select {
			case news <- n:
			case <-ctx.Done():
				return
			}
		}
	}()
	var next tea.Cmd
	next = func() tea.Msg {
		n, ok := <-news
		if !ok {
			return nil
		}
		return newsMsg{id, n, next}
	}
	return tea.Batch(count, next)
}

// takeNews has the conversation go on by itself. A turn that runs is told by itself.
func takeNews(c *chat, m newsMsg) tea.Cmd {
	conv, ok := c.conv.Conversation.(attendant)
	if !ok || m.conversation != c.conv.About.ID {
		return nil
	}
	switch {
	case m.news.Held != "":
		c.view.Note(m.news.Held)
	case !c.view.Busy():
		c.hideWelcome()
		begun := c.view.Begin(c.ctx, conv.Wake)
		c.view.Turn.Alone = true
		return tea.Batch(begun, m.next)
	}
	return m.next
}
