package markdown

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"callgate/internal/tui/termtext"
)

// style is how text looks: attributes, and a colour in the bits above them.
type style uint16

const (
	bold style = 1 << iota
	italic
	underline
	strike

	colourShift = iota
)

// The colours: the terminal's own where they do, else of its table of 256.
const (
	accent style = (iota + 1) << colourShift
	quiet
	comment
	name
	literal
	number
	deleted
	inserted
)

// colours are the codes of the colours, in their order.
var colours = [...]string{"", "36", "90", "38;5;244", "38;5;68", "38;5;65", "38;5;136", "38;5;131", "38;5;71"}

// attributes are the codes of the attributes, in the order of their bits.
var attributes = [...]int{1, 3, 4, 9}

// withColour is s, in a colour if it has none yet.
func (s style) withColour(colour style) style {
	if s>>colourShift != 0 {
		return s
	}
	return s | colour
}

// codes are the parameters of the command that sets the style.
func (s style) codes() string {
	out := colours[s>>colourShift]
	for i, code := range attributes {
		if s&(1<<i) != 0 {
			if out != "" {
				out += ";"
			}
			out += strconv.Itoa(code)
		}
	}
	return out
}

// span is text of one style. A newline in it breaks the line.
type span struct {
	text  string
	style style
}

// write writes a line of spans.
func write(line []span) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		s := line[i].style
		if s != 0 {
			b.WriteString("\x1b[" + s.codes() + "m")
		}
		for ; i < len(line) && line[i].style == s; i++ {
			b.WriteString(line[i].text)
		}
		if s != 0 {
			b.WriteString("\x1b[m")
		}
	}
	return b.String()
}

func widthOf(line []span) int {
	width := 0
	for _, s := range line {
		width += textWidth(s.text)
	}
	return width
}

// textWidth is the number of columns that a text takes.
func textWidth(text string) int {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return termtext.Width(text)
		}
	}
	return len(text)
}
