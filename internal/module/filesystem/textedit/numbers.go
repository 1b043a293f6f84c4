package textedit

import (
	"strconv"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/tool"
)

// lineNumber is a number before a line, as read, cat -n, or a search writes it.
var lineNumber = lazyregexp.New(`^ *([0-9]+)(?:\t|→|[:|-] ?)`)

// withoutNumbers removes the line numbers before the lines of a text. It reports false
// unless every line that is not blank has one, each greater than the one before.
func withoutNumbers(text string) (plain string, ok bool) {
	var b strings.Builder
	last := -1
	for line := range strings.Lines(text) {
		at := lineNumber.FindStringSubmatchIndex(line)
		if at == nil {
			if strings.TrimSpace(line) != "" {
				return "", false
			}
			b.WriteString(line)
			continue
		}
		n, err := strconv.Atoi(line[at[2]:at[3]])
		if err != nil || n <= last {
			return "", false
		}
		last = n
		b.WriteString(line[at[1]:])
	}
	return b.String(), last >= 0
}

// numbered says that a text that was not found has line numbers in it, and where it is
// without them.
func (p *planner) numbered(plain string) *tool.Error {
	e := tool.Errorf("", tool.NotFound,
		"old does not occur in the file: it seems to contain line numbers, which are not part of the file")
	for _, pair := range p.spellings(plain, "") {
		if found := occurrences(p.text, pair[0], ""); plain != "" && len(found) > 0 {
			return e.WithHint("copy the text without the number before each line; without them it stands %s",
				p.lineNumbers(found))
		}
	}
	return e.WithHint("copy the text without the number before each line")
}

// hasReadNumbers reports whether every line of a text begins as read writes it: with a
// number in six columns and a tab, each one more than the one before.
func hasReadNumbers(text string) bool {
	const columns = 6
	last := -1
	for line := range strings.Lines(text) {
		if len(line) <= columns || line[columns] != '\t' || line[0] != ' ' {
			return false
		}
		n, err := strconv.Atoi(strings.TrimLeft(line[:columns], " "))
		if err != nil || last >= 0 && n != last+1 {
			return false
		}
		last = n
	}
	return last >= 0
}
