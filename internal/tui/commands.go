package tui

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/amount"
	"callgate/internal/protocol"
	"callgate/internal/tui/alert"
	"callgate/internal/tui/transcript"
)

func showHelp(c *chat) tea.Cmd {
	c.view.Script.Show(c.view.Script.Add(transcript.Note{Text: c.palette.Help()}, true))
	return nil
}

func showSkills(c *chat) tea.Cmd {
	if len(c.conv.About.Skills) == 0 {
		c.view.Note("there are no skills; callgate skills list shows those that can be accepted")
		return nil
	}
	var b strings.Builder
	for _, s := range c.conv.About.Skills {
		fmt.Fprintf(&b, "/%s  %s\n", skillName(s), s.Description)
	}
	c.view.Note(b.String())
	return nil
}

func useSkill(c *chat, name, text string) tea.Cmd {
	text = strings.TrimSpace("/" + name + " " + text)
	return c.say(text, text)
}

// setAlerts is /notify: how a user who looks elsewhere is called.
func setAlerts(c *chat, text string) tea.Cmd {
	if text != "" {
		mode, ok := alert.ParseMode(text)
		if !ok {
			c.view.Bad("there is no way to call you named " + text + "; there are off, bell and desktop")
			return nil
		}
		c.alert.Mode = mode
	}
	c.view.Note("when something waits or a long turn ends while you look elsewhere: " +
		string(cmp.Or(c.alert.Mode, alert.Desktop)) +
		"\n/notify off, bell or desktop changes it, CALLGATE_NOTIFY for all chats")
	return nil
}

func toggleMouse(c *chat) tea.Cmd {
	c.screen.mouse = !c.screen.mouse
	c.status.Hint = "the terminal has the mouse: text can be marked; /mouse takes it back"
	if c.screen.mouse {
		c.status.Hint = "the chat has the mouse: the wheel scrolls"
	}
	return nil
}

func clearScreen(c *chat) tea.Cmd {
	c.view.Script.Clear()
	return nil
}

// compacter is a conversation that the user can have compacted.
// *client.Conversation is one.
type compacter interface {
	Compact(ctx context.Context) (*protocol.Compaction, error)
}

// compactedMsg brings the result of a compaction.
type compactedMsg struct {
	conversation string
	done         *protocol.Compaction // nil: there was nothing to compact
	err          error
}

func compact(c *chat) tea.Cmd {
	conv, ok := c.conv.Conversation.(compacter)
	switch {
	case !ok:
		c.view.Note("this kernel does not compact a conversation when it is told to: nothing was changed.\n" +
			"/new begins one with an empty window.")
		return nil
	case c.view.Busy():
		c.status.Hint = busyHint
		return nil
	}
	id := c.conv.About.ID
	c.status.Hint = "compacting"
	return func() tea.Msg {
		done, err := conv.Compact(c.ctx)
		return compactedMsg{id, done, err}
	}
}

func showCompaction(c *chat, m compactedMsg) {
	switch {
	case m.conversation != c.conv.About.ID:
	case m.err != nil:
		c.view.Fail(m.err)
	case m.done == nil:
		c.view.Note("there is nothing to make shorter yet")
	default:
		note := protocol.CompactionText(m.done)
		if m.done.Kept > 0 {
			note += "; the last " + amount.Of(m.done.Kept, "message") + " as before"
		}
		c.view.Note(note)
		if m.done.Summary != "" {
			c.view.Script.Add(&transcript.Collapsible{Head: "the summary", Text: m.done.Summary}, false)
		}
	}
	c.status.Hint = ""
}

// promptMsg brings what the model is told.
type promptMsg struct {
	prompt protocol.Prompt
	err    error
}

func loadPrompt(c *chat) tea.Cmd {
	conv := c.conv
	return func() tea.Msg {
		p, err := conv.Prompt(c.ctx)
		return promptMsg{p, err}
	}
}

func showPrompt(c *chat, m promptMsg) {
	if m.err != nil {
		c.view.Fail(m.err)
		return
	}
	var b strings.Builder
	for _, s := range m.prompt.Sections {
		fmt.Fprintf(&b, "%7d tokens  %s\n", s.Tokens, cmp.Or(s.Name, "(unnamed)"))
	}
	fmt.Fprintf(&b, "%7d tokens  in all", m.prompt.Tokens)
	if n := len(m.prompt.Offered); n > 0 {
		fmt.Fprintf(&b, "; beside it %s, about %d tokens", amount.Of(n, "tool"), m.prompt.Shown)
	}
	c.view.Note(b.String())
	c.view.Script.Add(&transcript.Collapsible{Head: "the prompt", Text: m.prompt.Text}, false)
}
