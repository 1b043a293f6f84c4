package lsp

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/internal/module/lsp/langserver"
	"callgate/tool"
)

// place says where in a file: a line, and a column or a name in it, both as people count.
type place struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Symbol string `json:"symbol"`
}

// find is the position of a place in a text.
func (p place) find(op, shown, text string) (langserver.Position, error) {
	lines := strings.Split(text, "\n")
	if p.Line > len(lines) {
		return langserver.Position{}, tool.Errorf(op, tool.Invalid,
			"%q has %d lines, and no line %d", shown, len(lines), p.Line).
			WithHint("read the file again")
	}
	if p.Symbol == "" {
		if p.Line == 0 {
			return langserver.Position{}, tool.Errorf(op, tool.Invalid, "it is not said where").
				WithHint("give symbol, a name in the file, with the line if there are several; or line and column")
		}
		line := strings.TrimSuffix(lines[p.Line-1], "\r")
		at := 0
		for n := 1; n < p.Column && at < len(line); n++ {
			_, size := utf8.DecodeRuneInString(line[at:])
			at += size
		}
		if p.Column == 0 {
			at = len(line) - len(strings.TrimLeft(line, " \t"))
		}
		return langserver.Position{Line: p.Line - 1, Character: units(line[:at])}, nil
	}
	from, to := 0, len(lines)
	if p.Line > 0 {
		from, to = p.Line-1, p.Line
	}
	for _, comments := range []bool{false, true} {
		for i := from; i < to; i++ {
			if at := word(lines[i], p.Symbol); at >= 0 && isComment(lines[i]) == comments {
				return langserver.Position{Line: i, Character: units(lines[i][:at])}, nil
			}
		}
	}
	where := shown
	if p.Line > 0 {
		where += " on line " + itoa(p.Line)
	}
	return langserver.Position{}, tool.Errorf(op, tool.NotFound, "there is no %q in %s", tool.Truncate(p.Symbol), where).
		WithHint("write it as it stands there; filesystem.grep finds where that is")
}

// isComment reports whether a line looks like one in most languages: a name is asked about where
// it is code, if it is.
func isComment(line string) bool {
	line = strings.TrimSpace(line)
	for _, mark := range []string{"//", "/*", "*", "#", "--", `"""`} {
		if strings.HasPrefix(line, mark) {
			return true
		}
	}
	return false
}

// word finds a name in a line that is no part of a longer one; without such a one any place.
func word(line, name string) int {
	first := strings.Index(line, name)
	for at := first; at >= 0; {
		before, _ := utf8.DecodeLastRuneInString(line[:at])
		after, _ := utf8.DecodeRuneInString(line[at+len(name):])
		if (at == 0 || !inName(before)) && (at+len(name) == len(line) || !inName(after)) {
			return lastPart(name, at)
		}
		next := strings.Index(line[at+1:], name)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	if first < 0 {
		return -1
	}
	return lastPart(name, first)
}

// lastPart is where the last name of a dotted one begins: in fmt.Println it is Println that is
// asked about.
func lastPart(name string, at int) int { return at + strings.LastIndexByte(name, '.') + 1 }

func inName(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// units counts the UTF-16 units of a text.
func units(text string) int {
	n := 0
	for _, r := range text {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}

// offset is where in a line so many UTF-16 units end; beyond the line it is its end.
func offset(line string, most int) int {
	n := 0
	for at, r := range line {
		if n >= most {
			return at
		}
		if n++; r > 0xffff {
			n++
		}
	}
	return len(line)
}
