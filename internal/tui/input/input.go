// Package input holds the fields in which the user writes: a field that grows
// with its text and recalls earlier texts, and an editor for a longer text.
package input

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// Field is a field for a message. Its owner handles enter; alt+enter and ctrl+j
// begin a new line.
type Field struct {
	area  textarea.Model
	past  []string // earlier texts
	at    int      // in past; len(past): the text being written
	draft string   // the text being written, while an earlier one is shown
}

const (
	maxRows  = 8      // of a field; its text may be longer
	maxLines = 20_000 // of a text
)

// NewField makes an empty field.
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

// Update handles a key or a paste. Up in the first row and down in the last one
// go through the earlier texts.
func (f *Field) Update(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		info := f.area.LineInfo()
		top := f.area.Line() == 0 && info.RowOffset == 0
		bottom := f.area.Line() == f.area.LineCount()-1 && info.RowOffset >= info.Height-1
		switch {
		case k.String() == "up" && top && f.at > 0:
			f.recall(f.at - 1)
			return nil
		case k.String() == "down" && bottom && f.at < len(f.past):
			f.recall(f.at + 1)
			return nil
		}
	}
	var cmd tea.Cmd
	f.area, cmd = f.area.Update(msg)
	return cmd
}

// recall shows an earlier text, or the draft at the end of them.
func (f *Field) recall(at int) {
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

// Remember adds a text to the earlier ones.
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

// Text returns the text.
func (f *Field) Text() string { return f.area.Value() }

// Past returns the earlier texts, the oldest first.
func (f *Field) Past() []string { return f.past }

// Recalling reports whether an earlier text is shown as it was.
func (f *Field) Recalling() bool { return f.at < len(f.past) && f.area.Value() == f.past[f.at] }

// Before returns the text before the cursor.
func (f *Field) Before() string {
	lines := strings.Split(f.area.Value(), "\n")
	row := min(f.area.Line(), len(lines)-1)
	line := []rune(lines[row])
	lines[row] = string(line[:min(f.area.Column(), len(line))])
	return strings.Join(lines[:row+1], "\n")
}

// Replace puts a text in the place of the last n characters before the cursor.
func (f *Field) Replace(n int, text string) {
	for range n {
		f.area, _ = f.area.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	}
	f.area.InsertString(text)
}

// Placeholder sets what is shown while nothing is written.
func (f *Field) Placeholder(text string) { f.area.Placeholder = text }

// SetWidth sets the width of the field.
func (f *Field) SetWidth(width int) { f.area.SetWidth(max(width, 1)) }

// View returns the rows of the field and the cursor in them.
func (f *Field) View() ([]string, *tea.Cursor) {
	return strings.Split(f.area.View(), "\n"), f.area.Cursor()
}

// Editor is a field for a text of many lines. Enter begins a new line.
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

// Update handles a key or a paste.
func (e *Editor) Update(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	e.area, cmd = e.area.Update(msg)
	return cmd
}

// Text returns the text.
func (e *Editor) Text() string { return e.area.Value() }

// View returns at most height rows of the text and the cursor in them.
func (e *Editor) View(width, height int) ([]string, *tea.Cursor) {
	e.area.SetWidth(max(width, 1))
	e.area.SetHeight(max(height, 1))
	return strings.Split(e.area.View(), "\n"), e.area.Cursor()
}
