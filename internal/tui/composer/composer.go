// Package composer is where the user writes a message: it completes commands and
// files, recalls and searches what was said before, collapses pastes, and opens the
// user's editor.
//
// # Law
//
// What is written leaves the composer only by enter, and is lost by no key: what is
// cleared can be recalled.
package composer

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/tui/attach"
	"callgate/internal/tui/input"
	"callgate/internal/tui/mention"
	"callgate/internal/tui/pastes"
	"callgate/internal/tui/recall"
	"callgate/internal/tui/termtext"
)

// Options are what a composer needs of its screen. Post is required.
type Options struct {
	Post func(tea.Msg) // takes a Submit
	// Files lists the files that can be mentioned. Nil: none are completed.
	Files func(context.Context) []string
	// Edit has a text edited in the user's own editor, on the whole terminal. Nil:
	// there is none.
	Edit func(text string) (string, error)
	Past *recall.File // what was said in this folder before; nil: nothing is kept
}

// Command is something that can be entered after a slash.
type Command struct{ Name, About string }

// Submit is what the user entered: as it stood there, with marks for long pastes,
// and whole.
type Submit struct{ Shown, Text string }

// Composer is the field and what helps to fill it.
type Composer struct {
	Options
	ctx      context.Context
	field    *input.Field
	pastes   pastes.Store
	commands []Command
	files    fileList
	choice   choice
	search   *search // nil: nothing is searched
	wrong    string  // why the editor's text was not taken
	ctrlX    bool    // ctrl+x was the last key
}

// placeholder is shown in an empty field.
const placeholder = "say what to do, or /help"

// New makes an empty composer. ctx ends its requests.
func New(ctx context.Context, o Options) *Composer {
	c := &Composer{Options: o, ctx: ctx, field: input.NewField(placeholder)}
	for _, text := range o.Past.Texts() {
		c.field.Remember(text)
	}
	return c
}

// SetCommands sets the commands that are completed.
func (c *Composer) SetCommands(list []Command) { c.commands = list }

// Empty reports whether nothing is written.
func (c *Composer) Empty() bool { return c.field.Text() == "" }

// Text returns what is written.
func (c *Composer) Text() string { return c.field.Text() }

// Set replaces what is written.
func (c *Composer) Set(text string) { c.field.Set(text) }

// GiveBack puts a text before what is written.
func (c *Composer) GiveBack(text string) {
	if rest := c.field.Text(); rest != "" {
		text += "\n" + rest
	}
	c.field.Set(text)
}

// Remember adds a text to those that can be recalled.
func (c *Composer) Remember(text string) { c.field.Remember(text) }

// Clear empties the field; its text can be recalled.
func (c *Composer) Clear() {
	c.search = nil
	c.field.Remember(strings.TrimSpace(c.field.Text()))
	c.field.Set("")
}

// Escape closes what is open in the composer, and reports whether anything was.
func (c *Composer) Escape() bool {
	switch {
	case c.search != nil:
		c.search = nil
	case len(c.suggestions()) > 0 && !c.isCommand():
		c.choice.dismiss(c.field.Before())
	default:
		return false
	}
	return true
}

// Key handles a key.
func (c *Composer) Key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	afterX := c.ctrlX
	c.ctrlX, c.wrong = name == "ctrl+x", ""
	if c.search != nil && c.searchKey(k) {
		return nil
	}
	switch name {
	case "ctrl+x":
		return nil
	case "ctrl+g":
		return c.edit()
	case "ctrl+e":
		if afterX {
			return c.edit()
		}
	case "ctrl+r":
		c.search = newSearch(c.field)
		return nil
	case "enter":
		return c.enter()
	case "tab":
		c.complete()
		return c.load()
	case "up", "down":
		if !c.field.Recalling() && c.choice.move(name, len(c.suggestions())) {
			return nil
		}
	case "backspace":
		if n := c.pastes.Ends(c.field.Before()); n > 0 {
			c.field.Replace(n, "")
			return nil
		}
	}
	c.choice.index = 0
	cmd := c.field.Update(k)
	return tea.Batch(cmd, c.load())
}

// enter takes a file that is being completed, or submits.
func (c *Composer) enter() tea.Cmd {
	if list := c.suggestions(); len(list) > 0 && !c.field.Recalling() {
		s := list[c.choice.at(len(list))]
		switch {
		case s.command && "/"+s.name != c.field.Text():
			c.field.Set("/" + s.name)
		case !s.command:
			if query, _, _ := mention.Query(c.field.Before()); query != s.name {
				c.complete()
				return c.load()
			}
		}
	}
	shown := strings.TrimSpace(c.field.Text())
	if shown == "" {
		c.field.Set("")
		return nil
	}
	text := c.pastes.Expand(c.field.Text())
	c.field.Take()
	if err := c.Past.Add(strings.TrimRight(text, " \n")); err != nil {
		c.Past = nil // it is told by nothing: a history is a convenience
	}
	c.Post(Submit{Shown: shown, Text: strings.TrimSpace(text)})
	return nil
}

// Paste handles a paste. A path of a picture becomes a mention of it, and a long text
// a mark.
func (c *Composer) Paste(p tea.PasteMsg) tea.Cmd {
	if path, ok := attach.PastedPicture(p.Content); ok {
		c.field.Replace(0, mention.Write(path)+" ")
		return nil
	}
	p.Content = c.pastes.Collapse(p.Content)
	return c.field.Update(p)
}

// Update handles the messages of the composer's own commands, and reports whether a
// message was one.
func (c *Composer) Update(msg tea.Msg) bool {
	switch msg := msg.(type) {
	case filesMsg:
		c.files.set(msg)
	case editedMsg:
		if msg.err != nil {
			c.wrong = msg.err.Error()
			break
		}
		c.field.Set(strings.TrimRight(msg.text, "\n"))
	default:
		return false
	}
	return true
}

// editedMsg brings the text from the user's editor.
type editedMsg struct {
	text string
	err  error
}

// Rows is the field behind its mark, and where the cursor stands.
func (c *Composer) Rows(width int) ([]string, *tea.Cursor) {
	c.field.SetWidth(width - 2)
	rows, cursor := c.field.View()
	first := "> "
	if strings.HasPrefix(c.field.Text(), "!") {
		first = "! "
	}
	for i := range rows {
		mark := "  "
		if i == 0 {
			mark = termtext.Accent(first)
		}
		rows[i] = mark + rows[i]
	}
	if cursor != nil {
		cursor.X += 2
	}
	return rows, cursor
}
