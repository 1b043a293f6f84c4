package resulttext

import (
	"strings"
	"unicode/utf8"
)

// MaxLine is the bytes of a line as long results count them: a longer one is several.
const MaxLine = 2000

// Lines returns the lines of a text, each with its end, as a long result is counted,
// cut and read back: those of the text, and a line longer than MaxLine as several.
// Together they are the text.
func Lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		for len(line) > MaxLine+1 {
			at := runeBorder(line, MaxLine)
			out = append(out, line[:at])
			line = line[at:]
		}
		out = append(out, line)
	}
	return out
}

// Folded reports whether a line of a text is so long that it counts as several.
func Folded(text string) bool {
	for line := range strings.Lines(text) {
		if len(line) > MaxLine+1 {
			return true
		}
	}
	return false
}

// runeBorder returns the last place up to at where a text can be cut.
func runeBorder(text string, at int) int {
	for i := at; i > max(0, at-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return at
}

// Head returns how many of the first lines fit into a number of bytes, and at least one.
func Head(lines []string, limit int) int {
	n := 0
	for _, line := range lines {
		if limit -= len(line); limit < 0 && n > 0 {
			break
		}
		n++
	}
	return n
}

// Tail returns from which line on the last lines fit into a number of bytes; len(lines)
// if none does.
func Tail(lines []string, limit int) int {
	from := len(lines)
	for from > 0 {
		if limit -= len(lines[from-1]); limit < 0 {
			break
		}
		from--
	}
	return from
}
