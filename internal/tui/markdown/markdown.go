// Package markdown lays Markdown out as the lines of a terminal.
//
// It reads what language models write: the blocks and inlines of CommonMark,
// and of GitHub's dialect tables, task lists, strikethrough and bare
// addresses. A line break in a paragraph stays one. HTML, reference links and
// footnotes are shown as they are written.
//
// # Law
//
//   - A terminal obeys nothing in the text: characters that would command it
//     are written as escapes, before the text is read and again where an
//     entity stands for one. The only commands are the colours of this package.
//   - No line is wider than the width, except for one wide character in a
//     single column.
//   - Time and memory grow linearly with the text, whatever it holds.
package markdown

import (
	"strings"

	"callgate/internal/tui/termtext"
)

// maxLength is the length in bytes up to which a text is laid out. A text that
// grows is laid out for each frame, and a frame must not take long. A longer
// text is shown as it is written.
const maxLength = 32 << 10

// Lines lays text out in a width.
func Lines(text string, width int) []string {
	text = termtext.Safe(strings.Trim(text, "\n"))
	if strings.TrimSpace(text) == "" {
		return nil
	}
	width = max(width, 1)
	if len(text) <= maxLength {
		if lines := layBlocks(parseBlocks(strings.Split(text, "\n"), 0), width, true); len(lines) > 0 {
			return lines
		}
	}
	return laySpans([]span{{text: text}}, width)
}
