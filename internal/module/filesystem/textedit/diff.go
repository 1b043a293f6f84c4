package textedit

import (
	"bytes"
	"fmt"
	"strings"

	"callgate/internal/module/filesystem/textfile"
)

// DiffSpan returns the one replacement that turns old into new, without the start
// and the end that both share. It returns nil if they are equal.
func DiffSpan(old, new []byte) []Replacement {
	if bytes.Equal(old, new) {
		return nil
	}
	shorter := min(len(old), len(new))
	head := 0
	for head < shorter && old[head] == new[head] {
		head++
	}
	tail := 0
	for tail < shorter-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	return []Replacement{{head, len(old) - tail, new[head : len(new)-tail]}}
}

// hunk is a change of complete lines.
type hunk struct {
	line     int // number of the first line, in the old text
	old, new []byte
}

// hunksOf extends spans to complete lines. Spans that share a line share a hunk.
func hunksOf(old []byte, spans []Replacement) []hunk {
	var hunks []hunk
	line, counted := 1, 0
	for i := 0; i < len(spans); {
		start := bytes.LastIndexByte(old[:spans[i].Start], '\n') + 1
		line += bytes.Count(old[counted:start], []byte("\n"))
		counted = start
		var text []byte
		end := start
		for first := true; i < len(spans) && (first || spans[i].Start < end); i++ {
			first = false
			s := spans[i]
			if s.Start < end { // inside what the span before was extended by
				text = text[:len(text)-(end-s.Start)]
			} else {
				text = append(text, old[end:s.Start]...)
			}
			text = append(text, s.Text...)
			end = s.End
			if !endsLine(old, s, text) {
				end = lineEnd(old, s.End)
				text = append(text, old[s.End:end]...)
			}
		}
		hunks = append(hunks, hunk{line, old[start:end], text})
	}
	return hunks
}

// endsLine reports whether a span ends at the end of a line, in the old text and
// in the new.
func endsLine(old []byte, s Replacement, text []byte) bool {
	oldEnds := s.End == len(old) || s.End == 0 || old[s.End-1] == '\n'
	newEnds := len(text) == 0 || text[len(text)-1] == '\n'
	return oldEnds && newEnds
}

// lineEnd returns the end of the line that holds from, after its newline.
func lineEnd(text []byte, from int) int {
	if i := bytes.IndexByte(text[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(text)
}

// Change is how replacements change the lines of a text. The zero Change is no
// change.
type Change struct {
	Added     int    `json:"added"`
	Removed   int    `json:"removed"`
	FirstLine int    `json:"first_changed_line,omitempty"`
	Text      string `json:"-"` // the lines, up to a limit
}

// String summarizes the change.
func (c Change) String() string {
	return fmt.Sprintf("+%d −%d lines, from line %d on", c.Added, c.Removed, c.FirstLine)
}

const (
	maxShown     = 60  // lines of a change that are shown
	maxShownLine = 200 // bytes of each
)

// ChangeOf describes the change that replacements make.
func ChangeOf(old []byte, spans []Replacement) Change {
	var c Change
	var b strings.Builder
	shown := 0
	for _, h := range hunksOf(old, spans) {
		before, after := splitLines(h.old), splitLines(h.new)
		for len(before) > 0 && len(after) > 0 && bytes.Equal(before[0], after[0]) {
			before, after = before[1:], after[1:]
			h.line++
		}
		for len(before) > 0 && len(after) > 0 && bytes.Equal(before[len(before)-1], after[len(after)-1]) {
			before, after = before[:len(before)-1], after[:len(after)-1]
		}
		if len(before)+len(after) == 0 {
			continue
		}
		if c.FirstLine == 0 {
			c.FirstLine = h.line
		}
		c.Added, c.Removed = c.Added+len(after), c.Removed+len(before)
		if shown < maxShown {
			fmt.Fprintf(&b, "@@ line %d @@\n", h.line)
			shown += writeLines(&b, '-', before, maxShown-shown)
			shown += writeLines(&b, '+', after, maxShown-shown)
		}
	}
	if rest := c.Added + c.Removed - shown; rest > 0 {
		fmt.Fprintf(&b, "… and %d more changed lines\n", rest)
	}
	c.Text = b.String()
	return c
}

func splitLines(text []byte) [][]byte {
	if len(text) == 0 {
		return nil
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// writeLines writes up to limit lines with a sign, and returns their number.
func writeLines(b *strings.Builder, sign byte, lines [][]byte, limit int) int {
	n := min(max(limit, 0), len(lines))
	for _, line := range lines[:n] {
		text, _ := textfile.Valid(textfile.Cut(bytes.TrimRight(line, "\r\n"), maxShownLine))
		b.WriteByte(sign)
		b.WriteString(text)
		b.WriteByte('\n')
	}
	return n
}
