// Package termtext writes text for a screen: safe, in a few colours, and cut or
// wrapped to a width.
//
// # Law
//
// Text of a model, a tool or a file goes through [Safe] before anything else is
// done with it, and what a library renders from it through [StripCommands]. The
// terminal shows all of it, and obeys nothing but the colours of this package.
package termtext

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"callgate/internal/visible"
)

func paint(code, text string) string {
	if text == "" {
		return ""
	}
	return "\x1b[" + code + "m" + text + "\x1b[m"
}

// The colours, by their meaning. Each takes one line of safe text.

// Strong makes text stand out.
func Strong(text string) string { return paint("1", text) }

// Faint makes text stand back.
func Faint(text string) string { return paint("2", text) }

// Bad marks an error, or a line that is removed.
func Bad(text string) string { return paint("31", text) }

// Good marks a success, or a line that is added.
func Good(text string) string { return paint("32", text) }

// Warn marks what needs attention.
func Warn(text string) string { return paint("33", text) }

// Accent marks the current position.
func Accent(text string) string { return paint("36", text) }

// Safe makes text harmless for a terminal: internal/visible writes out control
// characters and marks that reorder text or are invisible. Newlines stay, tabs
// become spaces.
func Safe(text string) string {
	if plain(text) {
		return text
	}
	return strings.ReplaceAll(visible.Lines(text), "\t", "    ")
}

// plain reports whether text is safe as it is. Nearly all text is.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\n' || c >= 0x7f {
			return false
		}
	}
	return true
}

// OneLine is safe text without line breaks.
func OneLine(text string) string { return strings.Join(strings.Fields(Safe(text)), " ") }

// Truncate shortens one line to a width, with a mark where it was cut.
func Truncate(line string, width int) string {
	if len(line) <= width { // a byte is no wider than a column
		return line
	}
	return ansi.Truncate(line, max(width, 1), "…")
}

// Width is the number of columns that a line takes.
func Width(line string) int { return ansi.StringWidth(line) }

// Pad cuts a line, or pads it with spaces, to exactly a width.
func Pad(line string, width int) string {
	line = Truncate(line, width)
	return line + strings.Repeat(" ", max(0, width-Width(line)))
}

// Wrap breaks safe text into lines of at most a width, between words where
// possible.
func Wrap(text string, width int) []string {
	width = max(width, 1)
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) <= width {
			lines = append(lines, line)
			continue
		}
		for part := range strings.SplitSeq(ansi.Wrap(line, width, ""), "\n") {
			if Width(part) > width { // it may keep a hyphen too many
				lines = append(lines, strings.Split(ansi.Hardwrap(part, width, true), "\n")...)
			} else {
				lines = append(lines, part)
			}
		}
	}
	return lines
}

// WrapList is Wrap for text as people write it: what goes on with an item of a list,
// an indented line or a second column, stands below its beginning.
func WrapList(text string, width int) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		indent := hang(line)
		if len(line) <= width || indent == 0 || width-indent < minHang {
			lines = append(lines, Wrap(line, width)...)
			continue
		}
		margin := strings.Repeat(" ", indent)
		for i, part := range Wrap(line[indent:], width-indent) {
			if i == 0 {
				lines = append(lines, line[:indent]+part)
			} else {
				lines = append(lines, margin+part)
			}
		}
	}
	return lines
}

// minHang is the width that text keeps beside its margin.
const minHang = 10

// hang is how far the text of a line is indented, with the mark of an item or the first
// column. Marks are of one byte a column.
func hang(line string) int {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	mark := ""
	switch {
	case digits > 0 && digits < 4 && len(text) > digits && strings.ContainsRune(".)", rune(text[digits])):
		mark = text[:digits+1]
	case text != "" && strings.ContainsRune("-*+", rune(text[0])):
		mark = text[:1]
	}
	if mark == "" {
		mark = column(text)
	}
	if rest := text[len(mark):]; mark != "" && strings.HasPrefix(rest, " ") {
		indent += len(mark) + len(rest) - len(strings.TrimLeft(rest, " "))
	}
	return indent
}

// maxColumn is the longest word that a column may begin with.
const maxColumn = 20

// column is the first word of a line in two columns: at least two spaces follow it.
func column(text string) string {
	end := strings.IndexByte(text, ' ')
	if end <= 0 || end > maxColumn || !strings.HasPrefix(text[end:], "  ") || !plain(text[:end]) {
		return ""
	}
	return text[:end]
}

// StripCommands removes from rendered text all terminal commands but colours:
// links, movement, and whatever hides text.
func StripCommands(rendered string) string {
	var b strings.Builder
	state := byte(0)
	for len(rendered) > 0 {
		seq, width, n, next := ansi.DecodeSequence(rendered, state, nil)
		switch {
		case n == 0:
			return b.String()
		case width > 0 || seq == "\n":
			b.WriteString(Safe(seq))
		case colour(seq):
			b.WriteString(seq)
		case seq == "\t":
			b.WriteString("    ")
		}
		rendered, state = rendered[n:], next
	}
	return b.String()
}

// colour reports whether a sequence sets a colour or a weight. It reports false
// for concealed and blinking text.
func colour(seq string) bool {
	inner, ok := strings.CutPrefix(seq, "\x1b[")
	if !ok {
		return false
	}
	inner, ok = strings.CutSuffix(inner, "m")
	if !ok || strings.Trim(inner, "0123456789;") != "" {
		return false
	}
	fields := strings.Split(inner, ";")
	for i := 0; i < len(fields); i++ {
		switch fields[i] {
		case "38", "48": // what follows is the colour itself
			i = len(fields)
		case "5", "6", "8", "05", "06", "08":
			return false
		}
	}
	return true
}

// JSON writes the characters of a JSON text that Safe would write out as escapes
// of JSON, so that the text can be edited and keeps its meaning.
func JSON(text string) string { return strings.ReplaceAll(visible.JSON(text), "\t", "    ") }
