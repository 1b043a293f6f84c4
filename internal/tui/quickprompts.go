package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/composer"
)

// withQuickPrompts adds what the app offers to say, each as a command of its label. A name
// that is taken stays what it is.
func withQuickPrompts(p commands, about *protocol.AppAbout) commands {
	if about == nil {
		return p
	}
	for _, q := range about.QuickPrompts {
		name := commandName(q.Label)
		if name == "" || slices.ContainsFunc(p.Names(), func(c composer.Command) bool { return c.Name == name }) {
			continue
		}
		say := func(c *chat, text string) tea.Cmd {
			message := strings.TrimSpace(q.Message + " " + text)
			return c.say(message, message)
		}
		p = append(p, command(name, q.Message, say))
	}
	return p
}

// commandName makes a label the name of a command.
func commandName(label string) string {
	words := strings.FieldsFunc(strings.ToLower(label), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}
