// Package input is where the user writes: a field that grows with its text and
// remembers what was written before, and a larger one for editing a text.
package input

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// Field takes the user's words. Enter is whoever holds it's to handle; alt+enter
// and ctrl+j begin a new line.
type Field struct {
	area  textarea.Model
	past  []string
	at    int    // in past; len(past): what is being written
	draft string // what was being written, while the past is looked at
}

// maxRows is how high the field grows; the text may be longer.
const (
	maxRows  = 8
	maxLines = 20_000
)

// NewField makes an empty one.
func NewField(placeholder string) *Field {
	f := &Field{area: plain()}
	f.area.Placeholder = placeholder
	f.area.DynamicHeight, f.area.MinHeight, f.area.MaxHeight = true, 1, maxRows
	f.area.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "ctrl+j", "shift+enter"))
	f.area.SetHeight(1)
	f.area.Focus()
	return f
}

// plain is a text area without decorations, in the terminal's own colours.
func plain() textarea.Model {
	a := textarea.New()
	a.ShowLineNumbers, a.Prompt, a.CharLimit, a.MaxContentHeight = false, "", 0, maxLines
	a.EndOfBufferCharacter = ' '
	a.SetVirtualCursor(false)
	var s textarea.Styles
	s.Focused.Placeholder = lipgloss.NewStyle().Faint(true)
	s.Blurred.Placeholder = s.Focused.Placeholder
	a.SetStyles(s)
	return a
}

// Update passes a key or a paste on to the field. Up and down go through what
// was written before, once the cursor is at an edge.
func (f *Field) Update(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch info := f.area.LineInfo(); {
		case k.String() == "up" && f.area.Line() == 0 && info.RowOffset == 0 && f.at > 0:
			f.look(f.at - 1)
			return nil
		case k.String() == "down" && f.area.Line() == f.area.LineCount()-1 && info.RowOffset >= info.Height-1 && f.at < len(f.past):
			f.look(f.at + 1)
			return nil
		}
	}
	var cmd tea.Cmd
	f.area, cmd = f.area.Update(msg)
	return cmd
}

// look shows what was written before.
func (f *Field) look(at int) {
	if f.at == len(f.past) {
		f.draft = f.area.Value()
	}
	f.at = at
	if at == len(f.past) {
		f.Set(f.draft)
	} else {
		f.Set(f.past[at])
	}
}

// Remember adds to what was written before.
func (f *Field) Remember(text string) {
	if n := len(f.past); text != "" && (n == 0 || f.past[n-1] != text) {
		f.past = append(f.past, text)
	}
	f.at = len(f.past)
}

// Take empties the field, remembers its text and returns it.
func (f *Field) Take() string {
	text := strings.TrimSpace(f.area.Value())
	f.Remember(text)
	f.Set("")
	return text
}

// Set replaces the text.
func (f *Field) Set(text string) {
	f.area.SetValue(text)
	f.area.MoveToEnd()
}

// Text is what is written.
func (f *Field) Text() string { return f.area.Value() }

// SetWidth sets how wide the field is.
func (f *Field) SetWidth(width int) { f.area.SetWidth(max(width, 1)) }

// View is the field's rows, and where the cursor stands in them.
func (f *Field) View() ([]string, *tea.Cursor) {
	return strings.Split(f.area.View(), "\n"), f.area.Cursor()
}

// Editor is a field for editing a text of many lines, in which enter begins a
// new one.
type Editor struct{ area textarea.Model }

// NewEditor opens an editor on a text.
func NewEditor(text string) *Editor {
	e := &Editor{area: plain()}
	e.area.MaxHeight = 0
	e.area.SetValue(text)
	e.area.MoveToBegin()
	e.area.Focus()
	return e
}

// Update passes a key or a paste on.
func (e *Editor) Update(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	e.area, cmd = e.area.Update(msg)
	return cmd
}

// Text is the text as it is now.
func (e *Editor) Text() string { return e.area.Value() }

// View is so many rows of it, and where the cursor stands in them.
func (e *Editor) View(width, height int) ([]string, *tea.Cursor) {
	e.area.SetWidth(max(width, 1))
	e.area.SetHeight(max(height, 1))
	return strings.Split(e.area.View(), "\n"), e.area.Cursor()
}
