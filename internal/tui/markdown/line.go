package markdown

import (
	"strings"
)

// codeIndent is the indentation from which a line is code.
const codeIndent = 4

func isBlank(line string) bool { return strings.TrimLeft(line, " ") == "" }

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// interrupts reports whether a line ends a paragraph by beginning another block.
func interrupts(line string) bool {
	if indentOf(line) >= codeIndent {
		return false
	}
	if isQuote(line) || isRule(line) {
		return true
	}
	if _, _, ok := headingOf(line); ok {
		return true
	}
	if _, ok := fenceOf(line); ok {
		return true
	}
	m, ok := markerOf(line)
	return ok && !m.empty && (!m.ordered() || m.number == 1) // so that a number at a line's beginning stays text
}

func isQuote(line string) bool {
	return indentOf(line) < codeIndent && strings.HasPrefix(strings.TrimLeft(line, " "), ">")
}

// headingOf reads a heading of the form "## text".
func headingOf(line string) (level int, text string, ok bool) {
	if indentOf(line) >= codeIndent {
		return 0, "", false
	}
	line = strings.Trim(line, " ")
	text = strings.TrimLeft(line, "#")
	level = len(line) - len(text)
	if level < 1 || level > 6 || text != "" && text[0] != ' ' {
		return 0, "", false
	}
	if bare := strings.TrimRight(text, "#"); bare == "" || bare[len(bare)-1] == ' ' {
		text = bare
	}
	return level, strings.Trim(text, " "), true
}

// underlineOf is the level of the heading that a line under a paragraph makes
// of it; 0: none.
func underlineOf(line string) int {
	if indentOf(line) >= codeIndent {
		return 0
	}
	switch line = strings.Trim(line, " "); {
	case line == "":
		return 0
	case strings.Trim(line, "=") == "":
		return 1
	case strings.Trim(line, "-") == "":
		return 2
	}
	return 0
}

// isRule reports whether a line is a thematic break: three or more of one mark.
func isRule(line string) bool {
	if indentOf(line) >= codeIndent {
		return false
	}
	marks := strings.ReplaceAll(line, " ", "")
	return len(marks) >= 3 && strings.Contains("-*_", marks[:1]) && strings.Trim(marks, marks[:1]) == ""
}

// fence is the line that opens a block of code.
type fence struct {
	mark   string // as many backticks or tildes as there are
	indent int
	info   string
}

func fenceOf(line string) (fence, bool) {
	f := fence{indent: indentOf(line)}
	if f.indent >= codeIndent {
		return f, false
	}
	line = line[f.indent:]
	if !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~") {
		return f, false
	}
	rest := strings.TrimLeft(line, line[:1])
	f.mark, f.info = line[:len(line)-len(rest)], strings.Trim(rest, " ")
	return f, f.mark[0] == '~' || !strings.Contains(f.info, "`")
}

// isClosedBy reports whether a line closes the block of code.
func (f fence) isClosedBy(line string) bool {
	if indentOf(line) >= codeIndent {
		return false
	}
	line = strings.Trim(line, " ")
	return len(line) >= len(f.mark) && strings.Trim(line, f.mark[:1]) == ""
}

// marker is the beginning of an item.
type marker struct {
	mark    byte // - + * or, after a number, . )
	number  int
	content int  // the column at which the item's text begins
	empty   bool // nothing follows on the line
}

func (m marker) ordered() bool { return m.mark == '.' || m.mark == ')' }

// maxDigits is the length of the largest number of an item.
const maxDigits = 9

func markerOf(line string) (m marker, ok bool) {
	at := indentOf(line)
	if at >= codeIndent || at == len(line) {
		return m, false
	}
	digits := at
	for ; at < len(line) && at-digits < maxDigits && line[at] >= '0' && line[at] <= '9'; at++ {
		m.number = m.number*10 + int(line[at]-'0')
	}
	marks := "-+*"
	if at > digits {
		marks = ".)"
	}
	if at == len(line) || !strings.Contains(marks, line[at:at+1]) {
		return m, false
	}
	m.mark = line[at]
	at++
	rest := strings.TrimLeft(line[at:], " ")
	spaces := len(line) - at - len(rest)
	m.empty = rest == ""
	switch {
	case m.empty:
		m.content = at + 1
	case spaces == 0:
		return m, false
	case spaces > codeIndent: // the item begins with code
		m.content = at + 1
	default:
		m.content = at + spaces
	}
	return m, true
}
