// Package render writes what people read: tables, and the pages of a tool, an
// approval or a call. It is given values and a [Style], and writes text; it
// asks nobody and decides nothing.
//
// Everything shown here may come from a model or a tool, so nothing of it
// reaches a terminal raw: control characters, and marks that reorder text, are
// written as escapes (see text.Safe).
package render

import (
	"bytes"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"callgate/internal/cli/text"
)

// Style is how text is laid out. The zero value is plain and of any width.
type Style struct {
	Color bool
	Width int              // of the terminal; 0: do not cut
	Now   func() time.Time // for ages; nil: time.Now
}

// The colours, by what they mean.
const (
	strong = "1"
	faint  = "2"
	bad    = "31"
	good   = "32"
	warn   = "33"
)

func (s Style) paint(color, words string) string {
	if !s.Color || color == "" || words == "" {
		return words
	}
	return "\x1b[" + color + "m" + words + "\x1b[0m"
}

// Strong makes text stand out.
func (s Style) Strong(words string) string { return s.paint(strong, words) }

// Faint makes text stand back.
func (s Style) Faint(words string) string { return s.paint(faint, words) }

// Bad marks what is wrong.
func (s Style) Bad(words string) string { return s.paint(bad, words) }

func (s Style) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// ago is how long ago a time was.
func (s Style) ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := s.now().Sub(t)
	if d < time.Second {
		return "just now"
	}
	return text.Duration(d) + " ago"
}

// stamp is a time of this machine's zone.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// Cell is one field of a table.
type Cell struct{ Text, color string }

// Plain makes a cell of any text.
func Plain(words string) Cell { return Cell{text.OneLine(words), ""} }

// Bold makes a cell that stands out.
func Bold(words string) Cell { return Cell{text.OneLine(words), strong} }

// Table writes rows under a head, in columns as wide as they need. The last
// column is cut to the width of the terminal.
func (s Style) Table(w io.Writer, head []string, rows [][]Cell) error {
	widths := make([]int, len(head))
	for i, h := range head {
		widths[i] = len(h)
	}
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
		}
	}
	var b bytes.Buffer
	top := make([]Cell, len(head))
	for i, h := range head {
		top[i] = Cell{h, strong}
	}
	for _, row := range append([][]Cell{top}, rows...) {
		s.row(&b, widths, row)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (s Style) row(b *bytes.Buffer, widths []int, row []Cell) {
	used, start := 0, b.Len()
	for i, c := range row {
		words := c.Text
		if i == len(row)-1 {
			words = s.fit(words, s.Width-used)
		}
		b.WriteString(s.paint(c.color, words))
		if i < len(row)-1 {
			pad := widths[i] - utf8.RuneCountInString(words) + 2
			b.WriteString(strings.Repeat(" ", pad))
			used += widths[i] + 2
		}
	}
	b.Truncate(start + len(bytes.TrimRight(b.Bytes()[start:], " ")))
	b.WriteByte('\n')
}

// fit cuts text to a width, when there is one.
func (s Style) fit(words string, width int) string {
	if s.Width == 0 || utf8.RuneCountInString(words) <= width {
		return words
	}
	width = max(width, 20)
	runes := []rune(words)
	return string(runes[:min(len(runes), width-1)]) + "…"
}
