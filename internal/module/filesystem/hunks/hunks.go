// Package hunks makes the hunks of a patch in a text. It has no state and touches no
// files.
//
// The law:
//
//   - Hunks come in the order of the file. A hunk is searched after the one before it,
//     and below the lines that its @@ lines name; it fits where its kept lines and
//     those that go follow each other, exactly, or else but for white space at the end
//     of lines, or else at both ends.
//   - A hunk that says where it begins is made at the nearest place that fits. One that
//     does not say, and fits at several places, is refused: it has too little around it.
//   - Kept lines stay as the file has them. Lines that come take the ending of the
//     file's lines.
//   - Either all hunks fit, or none is made.
package hunks

import (
	"bytes"
	"fmt"
	"strings"

	"callgate/internal/module/filesystem/patchfile"
	"callgate/internal/module/filesystem/textedit"
	"callgate/internal/module/filesystem/textfile"
	"callgate/tool"
)

// Apply returns the text after the hunks of a file. The error names no operation: the
// caller adds it.
func Apply(f *patchfile.File, text []byte) ([]byte, *tool.Error) {
	if bytes.Count(text, []byte("\n")) > textedit.MaxLines {
		return nil, textedit.TooManyLines()
	}
	a := &applier{file: f, ended: len(text) == 0 || text[len(text)-1] == '\n'}
	a.split(text)
	var out []string
	for i := range f.Hunks {
		at, err := a.place(i)
		if err != nil {
			return nil, err
		}
		out = append(out, a.lines[a.from:at]...)
		for _, line := range f.Hunks[i].Lines {
			switch line.Sign {
			case ' ':
				out = append(out, a.lines[at])
				at++
			case '-':
				at++
			case '+':
				out = append(out, a.newLine(line.Text))
			}
		}
		a.from = at
	}
	out = append(out, a.lines[a.from:]...)
	size := 0
	for _, line := range out {
		size += len(line) + len("\n")
	}
	if err := textedit.CheckSize(size); err != nil {
		err.Message = fmt.Sprintf("%q: %s", f.Path, err.Message)
		return nil, err
	}
	return a.join(out), nil
}

// Content returns the text of a file that a patch adds.
func Content(f *patchfile.File) string {
	if len(f.Lines) == 0 {
		return ""
	}
	text := strings.Join(f.Lines, "\n")
	if f.End != patchfile.WithoutNewline {
		text += "\n"
	}
	return text
}

// applier makes the hunks of one file.
type applier struct {
	file  *patchfile.File
	lines []string // of the old text, without newlines, but with the CR before one
	crlf  bool     // all lines end in CRLF
	ended bool     // the last line ends in a newline
	from  int      // the first line after the last hunk
}

func (a *applier) split(text []byte) {
	if len(text) == 0 {
		return
	}
	crlf := bytes.Count(text, []byte("\r\n"))
	a.crlf = crlf > 0 && crlf == bytes.Count(text, []byte("\n"))
	a.lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if a.crlf && !a.ended {
		a.lines[len(a.lines)-1] += "\r" // as the others, in case lines come after it
	}
}

func (a *applier) newLine(text string) string {
	if a.crlf {
		return text + "\r"
	}
	return text
}

func (a *applier) join(lines []string) []byte {
	if len(lines) == 0 {
		return nil
	}
	text := strings.Join(lines, "\n")
	ended := a.ended
	switch a.file.End {
	case patchfile.WithNewline:
		ended = true
	case patchfile.WithoutNewline:
		ended = false
	}
	if !ended {
		return []byte(strings.TrimSuffix(text, "\r"))
	}
	if a.crlf && !strings.HasSuffix(text, "\r") {
		text += "\r"
	}
	return []byte(text + "\n")
}

// same compares a line of the file with one of the patch, more freely at each level.
func same(level int, line, want string) bool {
	line = strings.TrimSuffix(line, "\r")
	switch level {
	case 0:
		return line == want
	case 1:
		return strings.TrimRight(line, " \t") == strings.TrimRight(want, " \t\r")
	default:
		return strings.TrimSpace(line) == strings.TrimSpace(want)
	}
}

const levels = 3

// oldLines are the lines of a hunk that the file must have.
func oldLines(h *patchfile.Hunk) []string {
	var old []string
	for _, line := range h.Lines {
		if line.Sign != '+' {
			old = append(old, line.Text)
		}
	}
	return old
}

// place finds the first line of a hunk.
func (a *applier) place(number int) (int, *tool.Error) {
	h := &a.file.Hunks[number]
	from, err := a.below(number, h)
	if err != nil {
		return 0, err
	}
	old := oldLines(h)
	if len(old) == 0 {
		return a.insertion(h, from), nil
	}
	for level := range levels {
		found := a.find(level, from, old, h.EndOfFile)
		switch {
		case len(found) == 0:
		case len(found) == 1:
			return found[0], nil
		case h.Start > 0:
			return nearestTo(found, h.Start-1), nil
		case len(h.Above) > 0:
			return found[0], nil // the first one below the line that it names
		default:
			return 0, a.ambiguous(number, found)
		}
	}
	return 0, a.misfit(number, from, old)
}

// below returns the line after those that the @@ lines of a hunk name.
func (a *applier) below(number int, h *patchfile.Hunk) (int, *tool.Error) {
	from := a.from
	for _, above := range h.Above {
		at := -1
		for level := 0; level < levels && at < 0; level++ {
			for i := from; i < len(a.lines); i++ {
				if same(level, a.lines[i], above) {
					at = i + 1
					break
				}
			}
		}
		if at < 0 {
			return 0, a.failure(number, "no line from line %d on is %q, which its @@ line names", from+1, shorten(above)).
				WithHint("write the @@ line as the file has it, or leave it out and keep more lines around the change")
		}
		from = at
	}
	return from, nil
}

// insertion is where a hunk goes that keeps no line and removes none: where it says,
// below its @@ line, or at the end.
func (a *applier) insertion(h *patchfile.Hunk, from int) int {
	switch {
	case h.Start > 0:
		return min(max(h.Start-1, from), len(a.lines))
	case len(h.Above) > 0:
		return from
	default:
		return len(a.lines)
	}
}

// find returns the places from a line on where lines follow each other, up to some.
func (a *applier) find(level, from int, old []string, end bool) (found []int) {
	const most = 1000
	if end {
		if last := len(a.lines) - len(old); last >= from && a.fits(level, last, old) {
			return []int{last}
		}
	}
	for i := from; i+len(old) <= len(a.lines) && len(found) < most; i++ {
		if a.fits(level, i, old) {
			found = append(found, i)
		}
	}
	return found
}

func (a *applier) fits(level, at int, old []string) bool {
	for i, want := range old {
		if !same(level, a.lines[at+i], want) {
			return false
		}
	}
	return true
}

func nearestTo(found []int, want int) int {
	best := found[0]
	for _, at := range found[1:] {
		if abs(at-want) < abs(best-want) {
			best = at
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

func (a *applier) failure(number int, format string, args ...any) *tool.Error {
	h := &a.file.Hunks[number]
	where := fmt.Sprintf("%q: hunk %d of %d (line %d of the patch) does not fit: ",
		a.file.Path, number+1, len(a.file.Hunks), h.Line)
	return tool.Errorf("", tool.Conflict, "%s", where+fmt.Sprintf(format, args...)+"; nothing was changed")
}

func (a *applier) ambiguous(number int, found []int) *tool.Error {
	const most = 5
	var numbers []string
	for _, at := range found[:min(most, len(found))] {
		numbers = append(numbers, fmt.Sprint(at+1))
	}
	e := a.failure(number, "it fits at %d places, at line %s", len(found), strings.Join(numbers, ", "))
	e.Kind = tool.Ambiguous
	return e.WithHint("keep more lines around the change, or name a line above it with @@")
}

// maxCompared limits the lines that are compared to find the nearest place.
const maxCompared = 2_000_000

// misfit says what was expected and what stands there, at the place that fits best.
func (a *applier) misfit(number, from int, old []string) *tool.Error {
	best, at := 0, -1
	for i := from; i < len(a.lines) && (i-from)*len(old) < maxCompared; i++ {
		n := 0
		for j, want := range old {
			if i+j < len(a.lines) && strings.TrimSpace(want) != "" && same(levels-1, a.lines[i+j], want) {
				n++
			}
		}
		if n > best {
			best, at = n, i
		}
	}
	if at < 0 {
		e := a.failure(number, "none of its lines is in the file from line %d on; the first is %q", from+1, shorten(old[0]))
		return e.WithHint("read the file again and write the hunk with its lines as they are")
	}
	for j, want := range old {
		if at+j >= len(a.lines) {
			e := a.failure(number, "the file ends after line %d, where the patch has %q", len(a.lines), shorten(want))
			return e.WithHint("%s", a.nearest(at))
		}
		if !same(levels-1, a.lines[at+j], want) {
			e := a.failure(number, "line %d should be %q and is %q", at+j+1, shorten(want), shorten(a.lines[at+j]))
			return e.WithHint("%s", a.nearest(at))
		}
	}
	e := a.failure(number, "its lines do not follow each other in the file")
	return e.WithHint("%s", a.nearest(at))
}

func (a *applier) nearest(at int) string {
	const text = "the nearest place begins at line %d; read it again and write the hunk with its lines as they are"
	return fmt.Sprintf(text, at+1)
}

// shorten shortens a line for an error.
func shorten(line string) string {
	text, _ := textfile.Valid(textfile.Cut([]byte(strings.TrimSuffix(line, "\r")), 120))
	return text
}
