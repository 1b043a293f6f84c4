package textedit

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/module/filesystem/textfile"
	"callgate/internal/nearest"
	"callgate/tool"
)

// lineNumbers writes the line numbers of occurrences.
func (p *planner) lineNumbers(found []Replacement) string {
	const maxShown = 10
	var b strings.Builder
	for i, s := range found[:min(len(found), maxShown)] {
		if i == 0 {
			b.WriteString("at line ")
		} else {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, p.lineAt(s.Start))
	}
	if len(found) > maxShown {
		b.WriteString(", …")
	}
	return b.String()
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func lineCount(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// notFound suggests lines that resemble the first line of old.
func (p *planner) notFound(old string) *tool.Error {
	if plain, ok := withoutNumbers(old); ok {
		return p.numbered(plain)
	}
	e := tool.Errorf("", tool.NotFound, "old does not occur in the file")
	similar, spacing := p.similar(old)
	for _, line := range similar {
		text, _ := textfile.Valid(textfile.Cut(bytes.TrimRight(p.line(line), "\r\n"), 160))
		e.Similar = append(e.Similar, fmt.Sprintf("line %d: %s", line, text))
	}
	switch {
	case spacing:
		return e.WithHint("it differs only in white space from what begins at %s", e.Similar[0])
	case len(similar) > 0:
		return e.WithHint("the nearest is %s", strings.Join(e.Similar, "; "))
	default:
		return e.WithHint("read the file again and copy the text exactly")
	}
}

const (
	maxSimilar  = 3      // lines that are suggested
	maxLines    = 50_000 // lines that are compared to find them
	maxCompared = 512    // bytes of a line that are compared
)

func (p *planner) line(n int) []byte { return p.text[p.start(n):p.start(n+1)] }

// similar finds the lines that resemble the first line of old that is not blank.
// spacing reports that the text at the line it returns differs from old only in
// white space.
func (p *planner) similar(old string) (lines []int, spacing bool) {
	want := strings.TrimSpace(old)
	first, _, _ := strings.Cut(want, "\n")
	first = words([]byte(first))
	if first == "" || p.crlf+p.lf > MaxLines {
		return nil, false
	}
	type candidate struct{ line, distance int }
	var found []candidate
	limit := 1 + len(first)/3
	for line := 1; line <= min(p.lines(), maxLines); line++ {
		text := words(p.line(line))
		if text == first && p.sameWords(line, want) {
			return []int{line}, true
		}
		if distance := nearest.Distance(text, first, limit); distance < limit {
			found = append(found, candidate{line, distance})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	for _, c := range found[:min(len(found), maxSimilar)] {
		lines = append(lines, c.line)
	}
	return lines, false
}

// words returns a line with single spaces between its words.
func words(line []byte) string {
	return strings.Join(strings.Fields(string(textfile.Cut(line, maxCompared))), " ")
}

// sameWords reports whether the text that begins at a line has the same words.
func (p *planner) sameWords(line int, want string) bool {
	wanted := strings.Fields(want)
	end := min(len(p.text), p.start(line)+2*len(want)+4096)
	have := strings.Fields(string(p.text[p.start(line):end]))
	return len(have) >= len(wanted) && slices.Equal(have[:len(wanted)], wanted)
}
