package tui

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/amount"
	"callgate/internal/protocol"
	"callgate/internal/tui/transcript"
)

const keysHelp = `enter says it · alt+enter, ctrl+j a new line · up, down what was said before
esc, ctrl+c stop what is under way; once more leaves · ctrl+d leaves
pgup, pgdown, shift+up, shift+down scroll · ctrl+home, ctrl+end beginning, end
ctrl+o shows the details of calls, or hides them; a click those of one
a question: a, d, e, s or q, and enter · tab goes to it, and back`

func showHelp(c *chat) tea.Cmd {
	var b strings.Builder
	for _, s := range c.palette {
		fmt.Fprintf(&b, "/%-10s %s\n", s.name, s.about)
	}
	c.view.note(b.String() + "\n" + keysHelp)
	return nil
}

func showModel(c *chat) tea.Cmd {
	a := c.conv.About
	text := "the offline brain: no language model, it finds tools by your words"
	if !a.Offline {
		text = a.Provider + "/" + a.Model
	}
	if a.Window > 0 {
		text += fmt.Sprintf("; its window is %s tokens", tokens(a.Window))
	}
	c.view.note(text + "\nA conversation keeps its model. Another one is named in the app file, under agents, " +
		"and counts from the next conversation on.")
	return nil
}

func showMode(c *chat) tea.Cmd {
	a := c.conv.About
	by := "written into its prompt"
	if a.Native {
		by = "given by its API"
	}
	c.view.note(fmt.Sprintf("%d tools, shown in the mode %s, %s\n", a.Tools, a.Mode, by) +
		"The mode is chosen when a conversation begins: runtime.tool_injection in the app file; " +
		"callgate surface explains it.")
	return nil
}

func showSkills(c *chat) tea.Cmd {
	if len(c.conv.About.Skills) == 0 {
		c.view.note("the app has no skills; dev.skills in the app file brings them")
		return nil
	}
	var b strings.Builder
	for _, s := range c.conv.About.Skills {
		fmt.Fprintf(&b, "/%s  %s\n", skillName(s), s.Description)
	}
	c.view.note(b.String())
	return nil
}

func useSkill(c *chat, name, text string) tea.Cmd {
	if text == "" {
		return c.say("use the skill "+name, "use the skill "+name)
	}
	text = "use the skill " + name + ": " + text
	return c.say(text, text)
}

func toggleMouse(c *chat) tea.Cmd {
	c.screen.mouse = !c.screen.mouse
	c.status.hint = "the terminal has the mouse: text can be marked; /mouse takes it back"
	if c.screen.mouse {
		c.status.hint = "the chat has the mouse: the wheel scrolls"
	}
	return nil
}

func clearScreen(c *chat) tea.Cmd {
	c.view.script.Clear()
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
		c.view.note("this kernel does not compact a conversation when it is told to: nothing was changed.\n" +
			"/new begins one with an empty window.")
		return nil
	case c.view.busy():
		c.status.hint = busyHint
		return nil
	}
	id := c.conv.About.ID
	c.status.hint = "compacting"
	return func() tea.Msg {
		done, err := conv.Compact(c.ctx)
		return compactedMsg{id, done, err}
	}
}

func showCompaction(c *chat, m compactedMsg) {
	switch {
	case m.conversation != c.conv.About.ID:
	case m.err != nil:
		c.view.fail(m.err)
	case m.done == nil:
		c.view.note("there is nothing to make shorter yet")
	default:
		note := compactionNote(m.done)
		if m.done.Kept > 0 {
			note += "; the last " + amount.Of(m.done.Kept, "message") + " as before"
		}
		c.view.note(note)
		if m.done.Summary != "" {
			c.view.script.Add(&transcript.Collapsible{Head: "the summary", Text: m.done.Summary}, false)
		}
	}
	c.status.hint = ""
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
		c.view.fail(m.err)
		return
	}
	var b strings.Builder
	for _, s := range m.prompt.Sections {
		fmt.Fprintf(&b, "%7d tokens  %s\n", s.Tokens, cmp.Or(s.Name, "(unnamed)"))
	}
	fmt.Fprintf(&b, "%7d tokens  in all", m.prompt.Tokens)
	if n := len(m.prompt.Offered); n > 0 {
		fmt.Fprintf(&b, "; beside it %d tools, about %d tokens", n, m.prompt.Shown)
	}
	c.view.note(b.String())
	c.view.script.Add(&transcript.Collapsible{Head: "the prompt", Text: m.prompt.Text}, false)
}
