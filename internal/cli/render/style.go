// Package render writes what people read: tables, the page of a tool, of an
// approval, of a call's story. It is given values and a [Style], and writes
// text; it asks nobody and decides nothing.
//
// Everything shown here may come from a model or a tool, so nothing of it
// reaches a terminal raw: control characters, and marks that reorder text, are
// written as escapes (see [Safe]).
package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Style is how text is laid out. The zero value is plain and of any width.
type Style struct {
	Color bool
	Width int              // of the terminal; 0: do not cut
	Now   func() time.Time // for ages; nil: time.Now
}

// The colours, by what they say.
const (
	strong = "1"
	faint  = "2"
	bad    = "31"
	good   = "32"
	warn   = "33"
)

func (s Style) paint(color, text string) string {
	if !s.Color || color == "" || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Strong makes text stand out.
func (s Style) Strong(text string) string { return s.paint(strong, text) }

// Faint makes text stand back.
func (s Style) Faint(text string) string { return s.paint(faint, text) }

// Bad marks what is wrong.
func (s Style) Bad(text string) string { return s.paint(bad, text) }

func (s Style) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// Safe writes text so that a terminal shows it and obeys nothing in it.
// Newlines and tabs stay.
func Safe(text string) string {
	var b strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028' || r == '\u2029':
			if r > 0xffff {
				fmt.Fprintf(&b, `\U%08x`, r)
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// oneLine is Safe text without line breaks.
func oneLine(text string) string {
	return strings.Join(strings.Fields(Safe(text)), " ")
}

// Cell is one field of a table.
type Cell struct{ Text, color string }

func plain(text string) Cell { return Cell{oneLine(text), ""} }

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
		text := c.Text
		if i == len(row)-1 {
			text = s.fit(text, s.Width-used)
		}
		b.WriteString(s.paint(c.color, text))
		if i < len(row)-1 {
			pad := widths[i] - utf8.RuneCountInString(text) + 2
			b.WriteString(strings.Repeat(" ", pad))
			used += widths[i] + 2
		}
	}
	b.Truncate(start + len(bytes.TrimRight(b.Bytes()[start:], " ")))
	b.WriteByte('\n')
}

// fit cuts text to a width, when there is one.
func (s Style) fit(text string, width int) string {
	if s.Width == 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	width = max(width, 20)
	runes := []rune(text)
	return string(runes[:min(len(runes), width-1)]) + "…"
}

// field is one line of a page: what it tells, and the telling.
type field struct{ name, text string }

// fields writes lines under each other, the empty ones left out.
func (s Style) fields(b *bytes.Buffer, list []field) {
	widest := 0
	for _, f := range list {
		if f.text != "" {
			widest = max(widest, len(f.name))
		}
	}
	for _, f := range list {
		if f.text != "" {
			fmt.Fprintf(b, "  %s%s  %s\n", s.Faint(f.name), strings.Repeat(" ", widest-len(f.name)), f.text)
		}
	}
}

// indent writes safe text, each line after a margin.
func indent(b *bytes.Buffer, margin, text string) {
	for line := range strings.Lines(Safe(strings.TrimRight(text, "\n"))) {
		b.WriteString(strings.TrimRight(margin+strings.TrimRight(line, "\n"), " "))
		b.WriteByte('\n')
	}
}

// JSON lays a JSON text out over lines; what is not JSON stays as it is.
func JSON(data []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return string(data)
	}
	return b.String()
}

// compact writes a JSON text in one line of at most n runes.
func compact(data []byte, n int) string {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return clip(string(data), n)
	}
	return clip(b.String(), n)
}

func clip(text string, n int) string {
	text = oneLine(text)
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}

// Duration writes a duration as people say it.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strings.Replace(fmt.Sprintf("%.1f s", d.Seconds()), ".0", "", 1)
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
}

func (s Style) ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := s.now().Sub(t)
	if d < time.Second {
		return "just now"
	}
	return Duration(d) + " ago"
}
