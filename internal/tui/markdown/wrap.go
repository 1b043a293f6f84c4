package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// wrapper breaks spans into lines of at most a width.
type wrapper struct {
	width     int
	lines     [][]span
	line      []span
	used      int    // columns of line
	word      []span // not yet in line
	wordWidth int
	gap       []span // spaces before word; they are dropped at the end of a line
	gapWidth  int
}

// wrap breaks spans between words, and words that are wider than a line
// anywhere. The indentation of a line is kept.
func wrap(spans []span, width int) [][]span {
	w := wrapper{width: max(width, 1)}
	for _, s := range spans {
		for text := s.text; text != ""; {
			n := strings.IndexAny(text, " \n")
			switch {
			case n < 0:
				n = len(text)
				fallthrough
			case n > 0:
				w.addWord(span{text[:n], s.style})
			case text[0] == '\n':
				n = 1
				w.endWord()
				w.endLine()
			default:
				n = len(text) - len(strings.TrimLeft(text, " "))
				w.endWord()
				w.gap = append(w.gap, span{text[:n], s.style})
				w.gapWidth += n
			}
			text = text[n:]
		}
	}
	w.endWord()
	if len(w.line) > 0 {
		w.endLine()
	}
	return w.lines
}

// emojiMark makes the character before it an emoji, and wider.
const emojiMark = "\ufe0f"

func (w *wrapper) addWord(s span) {
	s.text = strings.TrimLeft(s.text, emojiMark) // the character before it is measured already
	if s.text == "" {
		return
	}
	w.word = append(w.word, s)
	w.wordWidth += textWidth(s.text)
}

// endWord puts the word into the line, or into the next where it does not fit.
func (w *wrapper) endWord() {
	if len(w.word) == 0 {
		return
	}
	switch {
	case w.used+w.gapWidth+w.wordWidth <= w.width:
		w.line = append(append(w.line, w.gap...), w.word...)
		w.used += w.gapWidth + w.wordWidth
	default:
		if w.used > 0 {
			w.endLine()
		}
		for _, s := range w.word {
			w.addBroken(s)
		}
	}
	w.gap, w.gapWidth = w.gap[:0], 0
	w.word, w.wordWidth = w.word[:0], 0
}

// addBroken adds text, breaking it wherever the line is full.
func (w *wrapper) addBroken(s span) {
	for s.text != "" {
		n, width := cut(s.text, w.width-w.used)
		if n == 0 && w.used == 0 { // a character that is wider than a line has one to itself
			n, width = cluster(s.text)
		}
		if n > 0 {
			w.line = append(w.line, span{s.text[:n], s.style})
			w.used += width
			s.text = s.text[n:]
		}
		if s.text != "" {
			w.endLine()
		}
	}
}

// cut finds how much of a text fits into some columns, in bytes and columns.
func cut(text string, room int) (n, width int) {
	for n < len(text) {
		size, columns := 1, 1
		if text[n] >= utf8.RuneSelf || n+1 < len(text) && text[n+1] >= utf8.RuneSelf { // perhaps with an accent
			size, columns = cluster(text[n:])
		}
		if width+columns > room {
			break
		}
		n, width = n+size, width+columns
	}
	return n, width
}

// cluster is the first character of a text with its marks, in bytes and columns.
func cluster(text string) (n, width int) {
	c, width := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
	return max(len(c), 1), width
}

func (w *wrapper) endLine() {
	w.lines = append(w.lines, w.line)
	w.line, w.used = make([]span, 0, len(w.line)+4), 0 // lines are often alike
	w.gap, w.gapWidth = w.gap[:0], 0
}
