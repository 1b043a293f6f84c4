package transcript

import (
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/internal/tui/markdown"
)

// Answer is the words of a model as they come. It adds a block to the
// transcript for each piece of markdown that stands alone, so that only the last
// one, which still grows, is laid out again.
type Answer struct {
	to    *Transcript
	grows *piece
	entry *Entry
}

// NewAnswer begins an answer.
func NewAnswer(to *Transcript) *Answer { return &Answer{to: to} }

// piece is markdown that stands alone.
type piece struct{ text string }

func (p *piece) Lines(width int, _ bool) []string { return markdown.Lines(p.text, width) }

// Write adds words.
func (a *Answer) Write(words string) {
	for words != "" {
		if a.grows == nil {
			if words = strings.TrimLeft(words, "\n"); words == "" {
				return
			}
			a.grows = &piece{}
			a.entry = a.to.Add(a.grows, true)
		}
		from := max(strings.LastIndexByte(a.grows.text, '\n'), 0) // a break may lie across
		a.grows.text += words
		words = ""
		a.entry.Touch()
		if end, ok := breaks(a.grows.text, from); ok {
			a.grows.text, words = a.grows.text[:end], a.grows.text[end:]
			a.grows = nil
		}
	}
}

// Begun reports whether anything was written.
func (a *Answer) Begun() bool { return a.entry != nil }

// listed is the beginning of what may belong to a list above it.
var listed = lazyregexp.New(`^(?:[-*+]|\d{1,9}[.)])(?:\s|$)|^\s`)

// breaks finds where a piece of markdown ends, at an empty line after which
// something begins that cannot belong to it.
func breaks(text string, from int) (int, bool) {
	if !strings.Contains(text[from:], "\n") {
		return 0, false
	}
	fenced, list, empty, at := false, listed.MatchString(text), false, 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		whole := strings.HasSuffix(line, "\n")
		switch {
		case isFence(line):
			if !fenced && empty {
				return at, true
			}
			fenced, empty = !fenced, false
			if !fenced && whole { // the end of a block of code is an end in any case
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
