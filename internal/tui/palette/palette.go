// Package palette is the list of commands that the user can enter after a slash, and the
// help about them and the keys. Law: a text that begins with a slash is meant as a
// command, whether there is one of that name or not.
package palette

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/tui/composer"
)

// Command is something that the user can enter after a slash. text follows the
// command's name. C is what it acts on.
type Command[C any] struct {
	Name  string
	About string
	Run   func(c C, text string) tea.Cmd
}

// List is all of them.
type List[C any] []Command[C]

// Plain is a command that ignores what follows its name.
func Plain[C any](run func(C) tea.Cmd) func(C, string) tea.Cmd {
	return func(c C, _ string) tea.Cmd { return run(c) }
}

// Names are the names and descriptions, for completion.
func (l List[C]) Names() []composer.Command {
	var list []composer.Command
	for _, s := range l {
		list = append(list, composer.Command{Name: s.Name, About: s.About})
	}
	return list
}

// Find finds the command that a text means. ok says that the text is meant as one; run is
// nil if there is none of that name. A later command that has the name of an earlier one,
// such as a skill, is meant when text follows the name.
func (l List[C]) Find(text string) (run func(C) tea.Cmd, ok bool) {
	if !strings.HasPrefix(text, "/") {
		return nil, false
	}
	word := Word(text)
	rest := strings.TrimSpace(strings.TrimPrefix(text, "/"+word))
	for _, s := range l {
		if s.Name == word && (run == nil || rest != "") {
			run = func(c C) tea.Cmd { return s.Run(c, rest) }
		}
	}
	return run, true
}

// Word is the name in the text of a command.
func Word(text string) string {
	word, _, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	return word
}

const keys = `@FILE gives it a file or a picture; a picture's path can be pasted, too
!COMMAND runs a command of your own, and tells it what came of it
a long paste is shown as a mark, and sent whole

enter says it; while it works, it is told at its next step
up, down what was said before, or the last queued words · ctrl+r searches it
alt+enter, ctrl+j a new line · ctrl+g, or ctrl+x ctrl+e, your editor
esc, ctrl+c stop what is under way; once more leaves · ctrl+d leaves
ctrl+b lets the call that runs go on in the background
shift+tab changes what it may do unasked: ask, accept-edits, plan
pgup, pgdown, shift+up, shift+down scroll · ctrl+home, ctrl+end beginning, end
ctrl+o shows the details of calls, or hides them; a click those of one
tab completes a command or a file; goes to a question, and back
a question: a, d, e, s, k or q, and enter`

// Help tells what can be done.
func (l List[C]) Help() string {
	var b strings.Builder
	for _, s := range l {
		fmt.Fprintf(&b, "/%-10s %s\n", s.Name, s.About)
	}
	return b.String() + "\n" + keys
}
