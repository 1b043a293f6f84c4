package surface

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine is the longest line in bytes, including the ellipsis.
const maxLine = 160

// OneLine returns a description in one line of at most 160 bytes: its first
// sentence, without Markdown. Headings, rules and code blocks are skipped if there
// is other text. A list gives its first item; if the text before it ends in a
// colon, the items follow that text. A line that is too long is cut after a word.
func OneLine(description string) string {
	return cut(sentence(firstParagraph(strings.ToValidUTF8(description, ""))))
}

// firstParagraph returns the first paragraph with text, in one line.
func firstParagraph(text string) string {
	var heading, prose string
	var list []string
	fenced := false
	for raw := range strings.Lines(text) {
		line, kind := unmark(normalize(raw))
		introduced := strings.HasSuffix(prose, ":")
		switch {
		case kind == fence:
			fenced = !fenced
		case fenced:
		case kind == underline && list == nil:
			heading, prose = cmp.Or(heading, prose), ""
		case kind == plain && list == nil:
			prose = strings.TrimSpace(prose + " " + line)
			continue
		case kind == listItem && (introduced || prose == "" && list == nil):
			list = append(list, strings.TrimRight(line, ".;, "))
			continue
		case kind == title && prose == "" && list == nil:
			heading = cmp.Or(heading, line)
		case kind == blank && introduced && list == nil:
			continue
		}
		if prose != "" || list != nil {
			break
		}
	}
	if list != nil {
		prose = strings.TrimSpace(prose + " " + strings.Join(list, "; "))
	}
	return cmp.Or(prose, heading)
}

// normalize returns a line without emphasis and invisible characters, and with
// single spaces.
func normalize(line string) string {
	line = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), r == '\uFEFF', r == '\u200B':
			return -1
		}
		return r
	}, line)
	return strings.Join(strings.Fields(strings.ReplaceAll(line, "**", "")), " ")
}

// lineKind is the kind of a Markdown line.
type lineKind int

const (
	plain lineKind = iota
	blank          // empty, or a rule
	underline
	title
	listItem
	fence
)

// unmark removes the Markdown marks at the beginning of a line; the first one
// decides the kind.
func unmark(line string) (string, lineKind) {
	kind := plain
	for first := true; ; first = false {
		rest, k := unmarkOnce(line)
		if first {
			kind = k
		}
		if rest == line {
			break
		}
		line = rest
	}
	if line == "" && (kind == plain || kind == listItem) {
		kind = blank
	}
	return line, kind
}

func unmarkOnce(line string) (string, lineKind) {
	switch {
	case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
		return "", fence
	case len(line) >= 2 && strings.Trim(line, "=") == "":
		return "", underline
	case len(line) >= 3 && isRule(line):
		return "", blank
	}
	mark, rest, _ := strings.Cut(line, " ")
	switch mark {
	case ":param", ":return:", ":returns:", "@param", "@return", "@returns",
		"Args:", "Arguments:", "Parameters:", "Params:", "Returns:":
		return "", blank // a docstring's section about parameters
	case "#", "##", "###", "####", "#####", "######":
		return rest, title
	case "-", "*", "+", "•", "–", "·":
		return rest, listItem
	case ">":
		return rest, plain
	}
	digits := strings.TrimLeft(mark, "0123456789")
	if len(digits) < len(mark) && (digits == "." || digits == ")") {
		return rest, listItem
	}
	return line, plain
}

func isRule(line string) bool {
	return strings.Trim(line, "-") == "" || strings.Trim(line, "_") == "" || strings.Trim(line, "*") == ""
}

// sentence returns the first sentence of a line. Chinese and Japanese punctuation
// ends a sentence anywhere, other punctuation only before a space, and a full stop
// not after an abbreviation.
func sentence(line string) string {
	for i, r := range line {
		after := line[i+utf8.RuneLen(r):]
		switch r {
		case '。', '！', '？', '｡':
			return line[:len(line)-len(strings.TrimLeft(after, "」』”’）)\"'"))]
		case '.', '!', '?', '।', '؟':
			if strings.HasPrefix(after, string(r)) {
				continue // the last of several decides
			}
			rest := strings.TrimLeft(after, ".!?)]\"'”’»*`")
			next, spaced := strings.CutPrefix(rest, " ")
			if rest == "" {
				return line
			}
			if spaced && (r != '.' || !sentenceContinues(line[:i], next)) {
				return line[:len(line)-len(rest)]
			}
		}
	}
	return line
}

// sentenceContinues reports whether the full stop between two texts does not end a
// sentence: it belongs to an abbreviation, an initial, the number of a list item,
// or to dots before a lower-case letter.
func sentenceContinues(before, next string) bool {
	dots := strings.HasSuffix(before, ".")
	word := before[strings.LastIndexAny(before, " ([{\"'/")+1:]
	first, _ := utf8.DecodeRuneInString(next)
	small := unicode.IsLower(first) || unicode.IsDigit(first)
	switch strings.ToLower(word) {
	case "":
		return true
	case "e.g", "i.e", "eg", "ie", "vs", "cf", "dr", "mr", "mrs", "prof", "approx", "incl", "excl", "resp", "viz",
		"z.b", "d.h", "bzw", "p.ex":
		return true
	case "etc", "inc", "ltd", "corp", "co", "max", "min", "no", "fig", "vol", "al", "dept", "est", "sec", "ch", "pp":
		return small
	}
	if dots || initials(word) {
		return small || utf8.RuneCountInString(word) == 1 && !dots
	}
	return word == before && strings.Trim(word, "0123456789") == ""
}

// initials reports whether a word is single letters with dots between them.
func initials(word string) bool {
	for part := range strings.SplitSeq(word, ".") {
		r, size := utf8.DecodeRuneInString(part)
		if size != len(part) || !unicode.IsLetter(r) {
			return false
		}
	}
	return true
}

// cut shortens a line to maxLine, after a word if possible.
func cut(line string) string {
	const ellipsis = "…"
	if len(line) <= maxLine {
		return line
	}
	end := maxLine - len(ellipsis)
	for !utf8.RuneStart(line[end]) {
		end--
	}
	if line[end] != ' ' {
		if space := strings.LastIndexByte(line[:end], ' '); space >= end/2 {
			end = space
		}
	}
	return strings.TrimRight(line[:end], " ,;:(-–—") + ellipsis
}
