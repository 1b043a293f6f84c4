package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"callgate/internal/tui/welcome"
)

// longTurn is how long a turn takes after which its end is told to a user who looks
// elsewhere.
const longTurn = 10 * time.Second

// callUser calls a user who looks elsewhere.
func (c *chat) callUser(text string) tea.Cmd {
	if call := c.alert.Call(c.opt.Now(), text); call != "" {
		return tea.Raw(call)
	}
	return nil
}

// leftLines is how many lines of the transcript stay on the terminal.
const leftLines = 200

// leave writes the end of the transcript to the normal screen, so that it can be read
// when the chat's own screen is gone.
func (c *chat) leave(s Screen) {
	if c.screen.width <= 0 || c.welcome != nil {
		return
	}
	lines, more := c.view.Script.Last(c.screen.width, leftLines)
	if len(lines) == 0 {
		return
	}
	var out io.Writer = os.Stdout
	if s.Out != nil {
		out = s.Out
	}
	var b strings.Builder
	if more {
		fmt.Fprintf(&b, "… all of it: callgate sessions show %s\n", c.conv.About.ID)
	}
	for _, line := range lines {
		if s.NoColor {
			line = ansi.Strip(line)
		}
		b.WriteString(line + "\n")
	}
	fmt.Fprintln(out, b.String()) // a terminal that is gone needs nothing
}

// toolLister is a conversation that lists its tools by name.
type toolLister interface {
	ToolNames(ctx context.Context) ([]string, error)
}

// examplesMsg brings requests that the tools of a conversation make possible.
type examplesMsg struct {
	conversation string
	examples     []string
}

// loadExamples asks for the tools, for the examples of the first screen.
func loadExamples(c *chat) tea.Cmd {
	conv, ok := c.conv.Conversation.(toolLister)
	if !ok {
		return nil
	}
	id := c.conv.About.ID
	return func() tea.Msg {
		names, err := conv.ToolNames(c.ctx)
		if err != nil {
			return nil // the screen says the same without them
		}
		return examplesMsg{id, welcome.Examples(names)}
	}
}

func showExamples(c *chat, m examplesMsg) {
	if c.welcome != nil && m.conversation == c.conv.About.ID {
		c.welcome.Replace(&welcome.Block{About: c.conv.About, Examples: m.examples})
	}
}

// hideWelcome removes the first screen once something is said.
func (c *chat) hideWelcome() {
	if c.welcome != nil {
		c.view.Script.Remove(c.welcome)
		c.welcome = nil
	}
}
