// Package picker is a list on the screen from which the user chooses one entry. Law: it
// has the keyboard until an entry is chosen, or none, and then posts one message.
package picker

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/tui/termtext"
)

// List is what the user chooses from.
type List struct {
	Title   string
	Entries []string          // a line each
	Picked  func(int) tea.Msg // what choosing an entry posts
	None    tea.Msg           // what choosing none posts
	Post    func(tea.Msg)
	At      int // the entry that would be chosen
}

// pageRows is how far a page key moves in the list.
const pageRows = 8

// Key handles a key.
func (l *List) Key(name string) {
	switch name {
	case "up", "ctrl+p", "k":
		l.At = max(l.At-1, 0)
	case "down", "ctrl+n", "j":
		l.At = min(l.At+1, len(l.Entries)-1)
	case "pgup":
		l.At = max(l.At-pageRows, 0)
	case "pgdown":
		l.At = min(l.At+pageRows, len(l.Entries)-1)
	case "esc", "q":
		l.Post(l.None)
	case "enter":
		l.Post(l.Picked(l.At))
	}
}

// Rows are the lines of the list that fit.
func (l *List) Rows(width, height int) []string {
	title := l.Title + " up, down, enter; esc goes back"
	if len(l.Entries) > height-1 {
		title = fmt.Sprintf("%s (%d of %d)", title, l.At+1, len(l.Entries))
	}
	out := []string{termtext.Accent(termtext.Truncate(title, width))}
	height = max(height-1, 1)
	from := max(0, min(l.At-height/2, len(l.Entries)-height))
	for i := from; i < len(l.Entries) && i < from+height; i++ {
		if i == l.At {
			out = append(out, termtext.Accent(termtext.Truncate("▸ "+l.Entries[i], width)))
		} else {
			out = append(out, termtext.Faint(termtext.Truncate("  "+l.Entries[i], width)))
		}
	}
	return out
}
