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

// where names the lines of some occurrences.
func (p *planner) where(found []Replacement) string {
	const most = 10
	var b strings.Builder
	for i, s := range found[:min(len(found), most)] {
		if i == 0 {
			b.WriteString("at line ")
		} else {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, p.lineAt(s.Start))
	}
	if len(found) > most {
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

// notFound says which lines come near to the first line of old.
func (p *planner) notFound(old string) *tool.Error {
	e := tool.Errorf("", tool.NotFound, "old does not occur in the file")
	near, spaced := p.near(old)
	for _, line := range near {
		text, _ := textfile.Valid(textfile.Cut(bytes.TrimRight(p.line(line), "\r\n"), 160))
		e.Similar = append(e.Similar, fmt.Sprintf("line %d: %s", line, text))
	}
	switch {
	case spaced:
		return e.WithHint("it differs only in white space from what begins at %s", e.Similar[0])
	case len(near) > 0:
		return e.WithHint("the nearest is %s", strings.Join(e.Similar, "; "))
	default:
		return e.WithHint("read the file again and copy the text exactly")
	}
}

const (
	maxNear     = 3      // lines that are offered
	maxCompared = 50_000 // lines that are measured to find them
	maxMeasured = 512    // bytes of a line that are measured
)

func (p *planner) line(n int) []byte { return p.text[p.start(n):p.start(n+1)] }

// near finds the lines most like the first line of old that says anything;
// spaced reports that from the one it returns the text differs from old only
// in white space.
func (p *planner) near(old string) (lines []int, spaced bool) {
	want := strings.TrimSpace(old)
	first, _, _ := strings.Cut(want, "\n")
	first = words([]byte(first))
	if first == "" {
		return nil, false
	}
	type measured struct{ line, off int }
	var found []measured
	limit := 1 + len(first)/3
	for line := 1; line <= min(p.lines(), maxCompared); line++ {
		text := words(p.line(line))
		if text == first && p.sameWords(line, want) {
			return []int{line}, true
		}
		if off := nearest.Distance(text, first, limit); off < limit {
			found = append(found, measured{line, off})
		}
	}
	slices.SortStableFunc(found, func(a, b measured) int { return cmp.Compare(a.off, b.off) })
	for _, m := range found[:min(len(found), maxNear)] {
		lines = append(lines, m.line)
	}
	return lines, false
}

// words is a line with its white space made even.
func words(line []byte) string {
	return strings.Join(strings.Fields(string(textfile.Cut(line, maxMeasured))), " ")
}

// sameWords reports whether the text from a line on begins with the same words.
func (p *planner) sameWords(line int, want string) bool {
	wanted := strings.Fields(want)
	end := min(len(p.text), p.start(line)+2*len(want)+4096)
	have := strings.Fields(string(p.text[p.start(line):end]))
	return len(have) >= len(wanted) && slices.Equal(have[:len(wanted)], wanted)
}
