// Package pastes keeps long pastes out of the field in which a message is written:
// a mark stands for each until the message is sent.
package pastes

import (
	"fmt"
	"strings"

	"callgate/internal/amount"
)

// A paste of more lines, or of more characters, is collapsed.
const (
	maxLines = 8
	maxChars = 1_000
)

// Store has the pastes of a chat by their marks. The zero value is empty.
type Store struct {
	texts map[string]string
}

// Collapse returns the mark of a long paste, or the paste itself.
func (s *Store) Collapse(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
	if lines <= maxLines && len(text) <= maxChars {
		return text
	}
	size := amount.Of(lines, "line")
	if lines <= maxLines {
		size = amount.Of(len([]rune(text)), "character")
	}
	mark := fmt.Sprintf("[pasted %s]", size)
	for n := 2; s.texts[mark] != "" && s.texts[mark] != text; n++ {
		mark = fmt.Sprintf("[pasted %s, %d]", size, n)
	}
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	s.texts[mark] = text
	return mark
}

// Expand puts the pastes in the places of their marks. What a paste itself holds is
// left as it is.
func (s *Store) Expand(text string) string {
	var marks []string
	for mark, paste := range s.texts {
		marks = append(marks, mark, paste)
	}
	if len(marks) == 0 {
		return text
	}
	return strings.NewReplacer(marks...).Replace(text)
}

// Ends returns the length in characters of the mark with which a text ends, so that
// one key deletes it whole; 0: it does not.
func (s *Store) Ends(text string) int {
	for mark := range s.texts {
		if strings.HasSuffix(text, mark) {
			return len([]rune(mark))
		}
	}
	return 0
}
