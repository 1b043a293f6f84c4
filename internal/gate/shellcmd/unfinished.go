package shellcmd

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Lost is an unfinished command that is too long to be followed. It holds a character that
// no line may hold, so that whatever comes behind it cannot be judged.
const Lost = "\x00"

// Unfinished returns the end of what a shell has read that is no whole command yet: a line
// without its end, or with one that a backslash takes back, or what an open quote, loop or
// here-document began. What the shell reads next is judged behind it.
func Unfinished(text string) string {
	if strings.Contains(text, Lost) || tooLong(text) {
		return Lost
	}
	end := strings.LastIndexByte(text, '\n') + 1
	for end > 0 && continued(text[:end-1]) {
		end = strings.LastIndexByte(text[:end-1], '\n') + 1
	}
	_, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text[:end]), "")
	if syntax.IsIncomplete(err) {
		return text
	}
	return text[end:]
}

// continued reports whether a line goes on behind its end.
func continued(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// namesStdin reports whether a file that is run as code is the standard input, or another
// open file, in one of its spellings. The folder may be one that the line went to.
func namesStdin(w Word) bool {
	base := path.Base(w.Text)
	return w.Static && (base == "-" || base == "stdin" || strings.Trim(base, "0123456789") == "")
}
