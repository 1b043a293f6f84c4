package transcript

import (
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/internal/tui/markdown"
)

// Answer is the streamed text of a model. It adds a block to the transcript for
// each piece of Markdown that can be laid out alone, so that only the last one,
// which still grows, is laid out again.
type Answer struct {
	to    *Transcript
	grows *piece
	entry *Entry
	all   []*Entry
}

// NewAnswer begins an answer.
func NewAnswer(to *Transcript) *Answer { return &Answer{to: to} }

// piece is Markdown that can be laid out alone.
type piece struct{ text string }

func (p *piece) Lines(width int, _ bool) []string { return markdown.Lines(p.text, width) }

// Write adds text.
func (a *Answer) Write(text string) {
	for text != "" {
		if a.grows == nil {
			if text = strings.TrimLeft(text, "\n"); text == "" {
				return
			}
			a.grows = &piece{}
			a.entry = a.to.Add(a.grows, true)
			a.all = append(a.all, a.entry)
		}
		from := max(strings.LastIndexByte(a.grows.text, '\n'), 0) // a break may begin in the text before
		a.grows.text += text
		text = ""
		a.entry.Touch()
		if end, ok := breaks(a.grows.text, from); ok {
			a.grows.text, text = a.grows.text[:end], a.grows.text[end:]
			a.grows = nil
		}
	}
}

// Remove removes the answer from the transcript.
func (a *Answer) Remove() {
	for _, e := range a.all {
		a.to.Remove(e)
	}
}

// Begun reports whether anything was written.
func (a *Answer) Begun() bool { return a.entry != nil }

// listed matches the beginning of a line that may belong to a list above it.
var listed = lazyregexp.New(`^(?:[-*+]|\d{1,9}[.)])(?:\s|$)|^\s`)

// breaks finds the end of a piece of Markdown: an empty line, after which something
// begins that cannot belong to it.
func breaks(text string, from int) (int, bool) {
	if !strings.Contains(text[from:], "\n") {
		return 0, false
	}
	fenced, list, empty, at := false, listed.MatchString(text), false, 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		whole := strings.HasSuffix(line, "\n")
		switch {
		case isFence(line):
			if !fenced && empty && !(list && strings.HasPrefix(line, " ")) {
				return at, true
			}
			fenced, empty = !fenced, false
			if !fenced && whole { // a block of code ends a piece outside of lists
				return at + len(line), !list
			}
		case fenced:
		case strings.TrimSpace(line) == "":
			empty = whole
		case empty && !whole && len(line) < 12 && list:
			return 0, false // it may become an item yet
		case empty && !(list && listed.MatchString(line)):
			return at, true
		default:
			empty = false
		}
		at += len(line)
	}
	return 0, false
}

func isFence(line string) bool {
	line = strings.TrimLeft(line, " ")
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}
