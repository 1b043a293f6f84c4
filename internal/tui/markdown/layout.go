package markdown

import (
	"strconv"
	"strings"

	"callgate/internal/tui/highlight"
	"callgate/internal/tui/termtext"
)

// minWidth is the width that text keeps: where less would be left, a container
// is not indented.
const minWidth = 4

// layBlocks lays blocks out one below the other, with an empty line between
// them where they are spaced.
func layBlocks(blocks []block, width int, spaced bool) []string {
	var out []string
	for i := range blocks {
		lines := blocks[i].lay(width)
		if spaced && len(out) > 0 && len(lines) > 0 {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	return out
}

func (b *block) lay(width int) []string {
	switch b.kind {
	case heading:
		return b.layHeading(width)
	case rule:
		return []string{write([]span{{strings.Repeat("─", min(8, width)), quiet}})}
	case code:
		return b.layCode(width)
	case quote:
		return prefixed("│ ", "│ ", width, func(width int) []string { return layBlocks(b.blocks, width, true) })
	case list:
		return b.layList(width)
	case table:
		return b.table.lay(width)
	}
	return laySpans(parseInlines(b.text), width)
}

func laySpans(spans []span, width int) []string {
	var out []string
	for _, line := range wrap(spans, width) {
		out = append(out, write(line))
	}
	return out
}

// layHeading lays a heading out after as many marks as its level.
func (b *block) layHeading(width int) []string {
	spans := []span{{strings.Repeat("#", b.level) + " ", 0}}
	spans = append(spans, parseInlines(strings.ReplaceAll(b.text, "\n", " "))...)
	for i := range spans {
		spans[i].style = spans[i].style.withColour(accent) | bold
	}
	return laySpans(spans, width)
}

// layCode lays code out in colours, indented.
func (b *block) layCode(width int) []string {
	language, _, _ := strings.Cut(b.info, " ")
	return prefixed("  ", "  ", width, func(width int) []string {
		var spans []span
		for _, s := range highlight.Code(language, b.text) {
			spans = append(spans, span{s.Text, codeStyle(s.Class)})
		}
		return laySpans(spans, width)
	})
}

// codeStyle is the style of a class of code.
func codeStyle(c highlight.Class) style {
	switch c {
	case highlight.Comment:
		return comment
	case highlight.Keyword:
		return accent
	case highlight.Name:
		return name
	case highlight.String:
		return literal
	case highlight.Number:
		return number
	case highlight.Deleted:
		return deleted
	case highlight.Inserted:
		return inserted
	}
	return 0
}

// layList lays a list out. Items stand apart where one of them has several
// paragraphs or code.
func (b *block) layList(width int) []string {
	spaced := false
	for _, i := range b.items {
		spaced = spaced || i.isLong()
	}
	var out []string
	for n, i := range b.items {
		mark := "• "
		if b.ordered {
			mark = strconv.Itoa(b.start+n) + ". "
		}
		if i.task != "" {
			mark = i.task
		}
		if spaced && n > 0 {
			out = append(out, "")
		}
		out = append(out, prefixed(mark, strings.Repeat(" ", len([]rune(mark))), width, func(width int) []string {
			return layBlocks(i.blocks, width, spaced)
		})...)
	}
	return out
}

// isLong reports whether an item has more than one block beside the lists in it.
func (i item) isLong() bool {
	n := 0
	for _, b := range i.blocks {
		if b.kind != list {
			n++
		}
	}
	return n > 1
}

// prefixed lays something out after a first prefix, and further lines after
// another of the same width. Where there is no room for both, the first stands
// on a line of its own.
func prefixed(first, other string, width int, lay func(width int) []string) []string {
	inner := width - termtext.Width(first)
	if inner < minWidth {
		lines := lay(width)
		if mark := strings.Trim(first, " "); mark != "" && termtext.Width(mark) <= width {
			lines = append([]string{mark}, lines...)
		}
		return lines
	}
	lines := lay(inner)
	if len(lines) == 0 {
		lines = []string{""}
	}
	for i, line := range lines {
		prefix := other
		if i == 0 {
			prefix = first
		}
		if line == "" {
			prefix = strings.TrimRight(prefix, " ")
		}
		lines[i] = prefix + line
	}
	return lines
}
