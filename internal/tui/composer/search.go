package composer

import (
	tea "charm.land/bubbletea/v2"

	"callgate/internal/tui/input"
	"callgate/internal/tui/recall"
	"callgate/internal/tui/termtext"
)

// search looks for an earlier text by its words, as ctrl+r does in a shell.
type search struct {
	past  []string
	words string
	at    int // in past; -1: nothing fits
}

func newSearch(f *input.Field) *search {
	s := &search{past: f.Past()}
	s.words = f.Text()
	s.find(len(s.past))
	return s
}

// find looks for the last text before an index.
func (s *search) find(before int) { s.at = recall.Search(s.past, s.words, before) }

// line says what is searched, and what was found.
func (s *search) line() string {
	found := "nothing was said like that"
	if s.at >= 0 {
		found = termtext.OneLine(s.past[s.at])
	}
	return "search " + termtext.OneLine(s.words) + "▏ " + found + "  (ctrl+r older · enter takes it · esc)"
}

// searchKey handles a key of a search, and reports whether it was one. Other keys end
// the search with what was found.
func (c *Composer) searchKey(k tea.KeyPressMsg) bool {
	s := c.search
	switch k.String() {
	case "ctrl+r", "up":
		if at := recall.Search(s.past, s.words, max(s.at, 0)); at >= 0 {
			s.at = at
		}
		return true
	case "backspace":
		if r := []rune(s.words); len(r) > 0 {
			s.words = string(r[:len(r)-1])
			s.find(len(s.past))
		}
		return true
	case "esc", "ctrl+g":
		c.search = nil
		return true
	}
	if k.Text != "" {
		s.words += k.Text
		s.find(len(s.past))
		return true
	}
	c.search = nil
	if s.at >= 0 {
		c.field.Set(s.past[s.at])
	}
	name := k.String()
	return name == "enter" || name == "tab"
}
