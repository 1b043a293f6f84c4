package page

import (
	"slices"

	"callgate/tool"
)

// Kinds of notes.
const (
	Dialog  = "dialog"  // the page asked a question, which was answered
	Popup   = "popup"   // the page opened a tab
	Blocked = "blocked" // the page wanted a tab beyond the limit
	Chooser = "chooser" // the page asked for a file
)

// Note is something that happened to a tab and that the caller should know.
type Note struct {
	Kind     string
	Tab      string // the tab that it happened to
	Text     string // the text of a dialog; the address of a popup
	Dialog   string // alert, confirm, prompt or beforeunload
	Accepted bool   // how the dialog was answered
	Opened   string // the tab that a page opened
}

// maxNotes bounds the notes of a page that asks questions without end.
const maxNotes = 50

// notes are the notes that no caller has seen.
type notes []Note

func (all *notes) add(n Note) {
	if len(*all) < maxNotes {
		n.Text = tool.Truncate(n.Text)
		*all = append(*all, n)
	}
}

// take removes and returns the notes of a tab, or all for "".
func (all *notes) take(tab string) []Note {
	var taken []Note
	*all = slices.DeleteFunc(*all, func(n Note) bool {
		if tab != "" && n.Tab != tab {
			return false
		}
		taken = append(taken, n)
		return true
	})
	return taken
}
