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
		h.trim()
		added, removed := countLines(h.new), countLines(h.old)
		if added+removed == 0 {
			continue
		}
		if c.FirstLine == 0 {
			c.FirstLine = h.line
		}
		c.Added, c.Removed = c.Added+added, c.Removed+removed
		if shown < maxShown {
			fmt.Fprintf(&b, "@@ line %d @@\n", h.line)
			shown += writeLines(&b, '-', h.old, maxShown-shown)
			shown += writeLines(&b, '+', h.new, maxShown-shown)
		}
	}
	if rest := c.Added + c.Removed - shown; rest > 0 {
		fmt.Fprintf(&b, "… and %d more changed lines\n", rest)
	}
	c.Text = b.String()
	return c
}

// trim takes the lines away that both sides begin and end with.
func (h *hunk) trim() {
	for len(h.old) > 0 && len(h.new) > 0 {
		before, after := h.old[:lineEnd(h.old, 0)], h.new[:lineEnd(h.new, 0)]
		if !bytes.Equal(before, after) {
			break
		}
		h.old, h.new = h.old[len(before):], h.new[len(after):]
		h.line++
	}
	for len(h.old) > 0 && len(h.new) > 0 {
		before, after := lastLine(h.old), lastLine(h.new)
		if !bytes.Equal(before, after) {
			break
		}
		h.old, h.new = h.old[:len(h.old)-len(before)], h.new[:len(h.new)-len(after)]
	}
}

// lastLine returns the last line of a text that is not empty, with its newline.
func lastLine(text []byte) []byte {
	return text[bytes.LastIndexByte(text[:len(text)-1], '\n')+1:]
}

func countLines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// writeLines writes up to limit lines with a sign, and returns their number.
func writeLines(b *strings.Builder, sign byte, text []byte, limit int) (n int) {
	for ; n < limit && len(text) > 0; n++ {
		end := lineEnd(text, 0)
		line, _ := textfile.Valid(textfile.Cut(bytes.TrimRight(text[:end], "\r\n"), maxShownLine))
		b.WriteByte(sign)
		b.WriteString(line)
		b.WriteByte('\n')
		text = text[end:]
	}
	return n
}
