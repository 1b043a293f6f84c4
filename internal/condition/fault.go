package condition

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"callgate/tool"
)

// example is what an error offers where nothing nearer is known.
const example = `write for example result.count > 5, error != null or result.state == "done"`

// fault is the error of an expression that is wrong at a byte: it shows the place.
func fault(source string, pos int, what string) *tool.Error {
	pos = min(max(pos, 0), len(source))
	return tool.Errorf("condition.Compile", tool.Invalid, "the expression is wrong at character %d: %s\n%s",
		utf8.RuneCountInString(source[:pos])+1, what, pointer(source, pos)).WithHint("%s", example)
}

// undecided is the error of an evaluation: the values do not fit the expression.
func undecided(source string, pos int, format string, args ...any) *tool.Error {
	return tool.Errorf("condition.Eval", tool.Failed, "%s, in the expression %s",
		fmt.Sprintf(format, args...), strings.TrimSpace(tool.TruncateTo(source[min(pos, len(source)):], 200))).
		WithHint("test for what may be missing first, as in result.count != null and result.count > 5")
}

// pointer writes the part of the source around a byte, and a caret below it.
func pointer(source string, pos int) string {
	const around = 40
	from, to := max(0, pos-around), min(len(source), pos+around)
	for from > 0 && !utf8.RuneStart(source[from]) {
		from--
	}
	for to < len(source) && !utf8.RuneStart(source[to]) {
		to++
	}
	before, after := "", ""
	if from > 0 {
		before = "…"
	}
	if to < len(source) {
		after = "…"
	}
	line := before + oneLine(source[from:to]) + after
	return "  " + line + "\n  " + strings.Repeat(" ", utf8.RuneCountInString(before+oneLine(source[from:pos]))) + "^"
}

// oneLine replaces what would break the line or move the caret.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
}
