package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/attach"
	"callgate/internal/tui/queued"
	"callgate/internal/tui/transcript"
	"callgate/internal/tui/turnview"
)

// queuer is a conversation that takes words while a turn runs. *client.Conversation
// is one.
type queuer interface {
	QueueMessage(ctx context.Context, m protocol.SendMessage) (*protocol.QueuedMessage, error)
	Unqueue(ctx context.Context) (*protocol.QueuedMessage, error)
}

// queuedMsg is the kernel's answer to words for the turn that runs.
type queuedMsg struct {
	item     *queued.Item
	text     string
	problems []string
	taken    *protocol.QueuedMessage // nil: no turn runs
	err      error
}

// enqueue says a text to the turn that is under way.
func (c *chat) enqueue(shown, text string) tea.Cmd {
	conv, ok := c.conv.Conversation.(queuer)
	if !ok || c.view.Turn.Stopping {
		c.status.Hint = busyHint
		c.composer.Set(shown)
		return nil
	}
	item, prepare := c.queue.Add(shown), c.prepare(text)
	return func() tea.Msg {
		m := prepare(c.ctx)
		taken, err := conv.QueueMessage(c.ctx, m.SendMessage)
		return queuedMsg{item, text, m.Problems, taken, err}
	}
}

// queueAnswered takes the kernel's answer. Words that came too late for the turn are
// the next turn's.
func (c *chat) queueAnswered(m queuedMsg) tea.Cmd {
	for _, note := range m.problems {
		c.view.Note(note)
	}
	switch {
	case m.err != nil:
		if c.queue.Remove(m.item) {
			c.composer.GiveBack(m.item.Shown)
		}
		c.view.Fail(m.err)
	case m.taken != nil:
		c.queue.Accept(m.item, m.taken.ID)
	case c.queue.Remove(m.item):
		if c.view.Busy() { // its end is on the way
			c.view.Turn.Late = append(c.view.Turn.Late, turnview.Late{Shown: m.item.Shown, Text: m.text})
			return nil
		}
		return c.say(m.item.Shown, m.text)
	}
	return nil
}

// unqueuedMsg brings the last words back.
type unqueuedMsg struct {
	taken *protocol.QueuedMessage // nil: the turn has taken them
	err   error
}

// unqueue takes the last queued words back.
func (c *chat) unqueue() tea.Cmd {
	conv, ok := c.conv.Conversation.(queuer)
	if !ok {
		return nil
	}
	return func() tea.Msg {
		taken, err := conv.Unqueue(c.ctx)
		return unqueuedMsg{taken, err}
	}
}

func (c *chat) unqueued(m unqueuedMsg) {
	switch {
	case m.err != nil:
		c.view.Fail(m.err)
	case m.taken == nil:
		c.status.Hint = "too late: the agent has been told"
	default:
		c.giveBack([]protocol.QueuedMessage{*m.taken})
	}
}

// taken takes words that the model was told out of the queue. Where they stand now,
// they are shown as the user wrote them, with marks for long pastes.
func (c *chat) taken(m turnview.Taken) {
	if it := c.queue.Take(m.ID); it != nil {
		m.Entry.Replace(transcript.UserText(it.Shown))
	}
}

// giveBack puts words that the model was not told into the composer.
func (c *chat) giveBack(returned []protocol.QueuedMessage) {
	var texts []string
	for _, q := range returned {
		text, _ := attach.Split(q.Text)
		if it := c.queue.Take(q.ID); it != nil {
			text = it.Shown
		}
		texts = append(texts, text)
	}
	if len(texts) > 0 {
		c.composer.GiveBack(strings.Join(texts, "\n"))
	}
}

// turnOver gives back what the kernel did not: the connection may have been lost.
// What came too late for the turn is said now.
func (c *chat) turnOver(m turnview.Over) tea.Cmd {
	var texts []string
	for _, it := range c.queue.TakeAll() {
		texts = append(texts, it.Shown)
	}
	if len(texts) > 0 {
		c.composer.GiveBack(strings.Join(texts, "\n"))
	}
	var cmds []tea.Cmd
	for i, w := range m.Late {
		if i == 0 {
			cmds = append(cmds, c.say(w.Shown, w.Text))
		} else {
			cmds = append(cmds, c.enqueue(w.Shown, w.Text))
		}
	}
	if (m.Took >= longTurn || m.Alone) && len(m.Late) == 0 {
		cmds = append(cmds, c.callUser("the agent has ended its turn"))
	}
	return tea.Batch(cmds...)
}

// prepare returns what makes the message of a text: what it mentions, and what the
// user's own commands printed since the last one, is attached.
func (c *chat) prepare(text string) func(context.Context) attach.Message {
	about, printed := c.conv.About, c.own.TakePrinted()
	if about.Offline { // it reads names, not texts
		words := attach.Names(about.Workspace, text)
		return func(context.Context) attach.Message {
			return attach.Message{SendMessage: protocol.SendMessage{Text: words}}
		}
	}
	call, _ := c.conv.Conversation.(attach.Caller)
	return func(ctx context.Context) attach.Message {
		m := attach.Files(ctx, call, about.Workspace, text, attach.Mentioned(about.Workspace, text))
		m.Text += printed
		return m
	}
}
