package tui

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/transcript"
)

// command is something that is written after a slash.
type command struct {
	name  string
	about string
	do    func(c *chat) tea.Cmd
}

// commands are all of them but the skills.
func commands() []command {
	return []command{
		{"help", "what can be done here", (*chat).help},
		{"model", "which model answers", (*chat).sayModel},
		{"mode", "how the tools are shown to it", (*chat).sayMode},
		{"compact", "make room in the model's window", (*chat).askCompact},
		{"sessions", "earlier conversations; choose one to go on with", (*chat).askSessions},
		{"new", "begin a new conversation", func(c *chat) tea.Cmd { return c.open("") }},
		{"skills", "the skills of the app; /NAME uses one", (*chat).saySkills},
		{"prompt", "what the model is told before everything else", (*chat).askPrompt},
		{"mouse", "let the terminal have the mouse, or take it back", (*chat).toggleMouse},
		{"clear", "empty the screen; the conversation stays", func(c *chat) tea.Cmd { c.script.Clear(); return nil }},
		{"quit", "leave; callgate chat --resume comes back", func(*chat) tea.Cmd { return tea.Quit }},
	}
}

// all are the commands, and the skills of the app.
func (c *chat) all() []command {
	list := commands()
	for _, s := range c.conv.About.Skills {
		name := strings.TrimPrefix(s.Command, "/")
		list = append(list, command{name, s.Description, func(c *chat) tea.Cmd { return c.say("use the skill " + name) }})
	}
	return list
}

// suggestions are the commands that what is written may become.
func (c *chat) suggestions() []command {
	word, ok := strings.CutPrefix(c.field.Text(), "/")
	if !ok || strings.ContainsAny(word, " \n") {
		return nil
	}
	var fit []command
	for _, s := range c.all() {
		if strings.HasPrefix(s.name, word) {
			fit = append(fit, s)
		}
	}
	return fit
}

// command does what was written after a slash. What follows a skill's name is
// said with it.
func (c *chat) command(text string) tea.Cmd {
	word, rest, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	for _, s := range c.all() {
		if s.name != word {
			continue
		}
		if rest = strings.TrimSpace(rest); rest != "" && c.isSkill(word) {
			return c.say("use the skill " + word + ": " + rest)
		}
		return s.do(c)
	}
	c.bad("there is no command /" + word + "; /help shows them")
	return nil
}

func (c *chat) isSkill(word string) bool {
	for _, s := range c.conv.About.Skills {
		if strings.TrimPrefix(s.Command, "/") == word {
			return true
		}
	}
	return false
}

const keysHelp = `enter says it · alt+enter, ctrl+j a new line · up, down what was said before
esc, ctrl+c stop what is under way; once more leaves · ctrl+d leaves
pgup, pgdown, shift+up, shift+down scroll · ctrl+home, ctrl+end beginning, end
ctrl+o shows the details of calls, or hides them; a click those of one
a question: a, d, e, s or q, and enter · tab goes to it, and back`

func (c *chat) help() tea.Cmd {
	var b strings.Builder
	for _, s := range c.all() {
		fmt.Fprintf(&b, "/%-10s %s\n", s.name, s.about)
	}
	c.note(b.String() + "\n" + keysHelp)
	return nil
}

func (c *chat) sayModel() tea.Cmd {
	a := c.conv.About
	text := "the offline brain: no language model, it finds tools by your words"
	if !a.Offline {
		text = a.Provider + "/" + a.Model
	}
	if a.Window > 0 {
		text += fmt.Sprintf("; its window is %s tokens", tokens(a.Window))
	}
	c.note(text + "\nA conversation keeps its model. Another one is named in the app file, under agents, and counts from the next conversation on.")
	return nil
}

func (c *chat) sayMode() tea.Cmd {
	a := c.conv.About
	by := "written into its prompt"
	if a.Native {
		by = "given by its API"
	}
	c.note(fmt.Sprintf("%d tools, shown in the mode %s, %s\nThe mode is chosen when a conversation begins: runtime.tool_injection in the app file; callgate surface explains it.", a.Tools, a.Mode, by))
	return nil
}

// compacter is a conversation that can be made shorter when one wants it.
// *client.Conversation is one.
type compacter interface {
	Compact(ctx context.Context) (*protocol.Compaction, error)
}

// compactedMsg is what was done to make a conversation shorter.
type compactedMsg struct {
	id   string
	done *protocol.Compaction
	err  error
}

func (c *chat) askCompact() tea.Cmd {
	talk, ok := c.conv.Conversation.(compacter)
	switch {
	case !ok:
		c.note("this kernel does not compact a conversation when it is told to: nothing was changed.\n/new begins one with an empty window.")
		return nil
	case c.turn != nil:
		c.screen.hint = "a turn is under way: esc stops it"
		return nil
	}
	id := c.conv.About.ID
	c.screen.hint = "compacting"
	return func() tea.Msg {
		done, err := talk.Compact(c.ctx)
		return compactedMsg{id, done, err}
	}
}

func (c *chat) compacted(m compactedMsg) {
	switch {
	case m.id != c.conv.About.ID:
	case m.err != nil:
		c.wrong(m.err)
	case m.done == nil:
		c.note("there is nothing to make shorter yet")
	default:
		c.note(fmt.Sprintf("what was said before now stands in a summary; the last %d messages stay as they were", m.done.Kept))
		if m.done.Summary != "" {
			c.script.Add(&transcript.Collapsible{Head: "the summary", Text: m.done.Summary}, false)
		}
	}
	c.screen.hint = ""
}

func (c *chat) saySkills() tea.Cmd {
	if len(c.conv.About.Skills) == 0 {
		c.note("the app has no skills; dev.skills in the app file brings them")
		return nil
	}
	var b strings.Builder
	for _, s := range c.conv.About.Skills {
		fmt.Fprintf(&b, "/%s  %s\n", strings.TrimPrefix(s.Command, "/"), s.Description)
	}
	c.note(b.String())
	return nil
}

func (c *chat) toggleMouse() tea.Cmd {
	c.screen.mouse = !c.screen.mouse
	c.screen.hint = "the terminal has the mouse: text can be marked; /mouse takes it back"
	if c.screen.mouse {
		c.screen.hint = "the chat has the mouse: the wheel scrolls"
	}
	return nil
}

// promptMsg is what the model is told.
type promptMsg struct {
	prompt protocol.Prompt
	err    error
}

func (c *chat) askPrompt() tea.Cmd {
	talk := c.conv
	return func() tea.Msg {
		p, err := talk.Prompt(c.ctx)
		return promptMsg{p, err}
	}
}

func (c *chat) showPrompt(p promptMsg) {
	if p.err != nil {
		c.wrong(p.err)
		return
	}
	var b strings.Builder
	for _, s := range p.prompt.Sections {
		fmt.Fprintf(&b, "%7d tokens  %s\n", s.Tokens, cmp.Or(s.Name, "(unnamed)"))
	}
	fmt.Fprintf(&b, "%7d tokens  in all", p.prompt.Tokens)
	if n := len(p.prompt.Offered); n > 0 {
		fmt.Fprintf(&b, "; beside it %d tools, about %d tokens", n, p.prompt.Shown)
	}
	c.note(b.String())
	c.script.Add(&transcript.Collapsible{Head: "the prompt", Text: p.prompt.Text}, false)
}
