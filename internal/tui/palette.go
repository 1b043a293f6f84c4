package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/composer"
)

// palette is the list of commands: those of the chat, and one for each skill of
// the app.
type palette []command

// command is something that the user can enter after a slash. text follows the
// command's name.
type command struct {
	name  string
	about string
	run   func(c *chat, text string) tea.Cmd
}

func newPalette(skills []protocol.Skill) palette {
	p := palette{
		{"help", "what can be done here", plain(showHelp)},
		{"model", "which model answers", plain(showModel)},
		{"mode", "how the tools are shown to it", plain(showMode)},
		{"compact", "make room in the model's window", plain(compact)},
		{"sessions", "earlier conversations; choose one to go on with", plain(listConversations)},
		{"new", "begin a new conversation", plain(func(c *chat) tea.Cmd { return c.open("") })},
		{"skills", "the skills of the app; /NAME uses one", plain(showSkills)},
		{"prompt", "what the model is told before everything else", plain(loadPrompt)},
		{"mouse", "let the terminal have the mouse, or take it back", plain(toggleMouse)},
		{"clear", "empty the screen; the conversation stays", plain(clearScreen)},
		{"quit", "leave; callgate chat --resume comes back", plain(func(*chat) tea.Cmd { return tea.Quit })},
	}
	for _, s := range skills {
		name := skillName(s)
		p = append(p, command{name, s.Description, func(c *chat, text string) tea.Cmd { return useSkill(c, name, text) }})
	}
	return p
}

// plain is a command that ignores what follows its name.
func plain(run func(*chat) tea.Cmd) func(*chat, string) tea.Cmd {
	return func(c *chat, _ string) tea.Cmd { return run(c) }
}

func skillName(s protocol.Skill) string { return strings.TrimPrefix(s.Command, "/") }

// commands are the names and descriptions, for completion.
func (p palette) commands() []composer.Command {
	var list []composer.Command
	for _, s := range p {
		list = append(list, composer.Command{Name: s.name, About: s.about})
	}
	return list
}

// command finds the command that a text means. ok says that the text is meant
// as one; run is nil if there is none of that name. A skill that has the name of
// one of the chat's commands is meant when text follows the name.
func (p palette) command(text string) (run func(*chat) tea.Cmd, ok bool) {
	if !strings.HasPrefix(text, "/") {
		return nil, false
	}
	word := commandWord(text)
	rest := strings.TrimSpace(strings.TrimPrefix(text, "/"+word))
	for _, s := range p {
		if s.name == word && (run == nil || rest != "") {
			run = func(c *chat) tea.Cmd { return s.run(c, rest) }
		}
	}
	return run, true
}

// commandWord is the name in the text of a command.
func commandWord(text string) string {
	word, _, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	return word
}
