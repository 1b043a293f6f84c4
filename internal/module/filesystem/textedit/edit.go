// Package textedit edits texts, and describes what changed. It has no state and
// touches no files.
//
// The law of edits:
//
//   - Every edit refers to the text as it was before the call. Edits may come in
//     any order and may not overlap; no edit sees what another inserts. Text that
//     is inserted where a replaced range begins comes before it, and insertions at
//     one place keep the order of the edits.
//   - Edits that all replace text, and do not all find their place so, are tried one
//     after the other: then each refers to the text as those before it left it.
//   - Either every edit finds its place, or none is made.
//   - In a text whose lines all end in CRLF, newlines in old and new mean CRLF. In
//     any other, old is searched as it is and then, if it spans lines, with each
//     ending; new takes the ending with which old was found.
//   - Edits by line treat new as lines, with or without a newline at its end. A
//     text without a newline at its end stays without one.
//   - The size of a result is computed before memory is taken for it. A result
//     above MaxSize is refused, for it could not be read back to be changed again.
package textedit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/amount"
	"callgate/tool"
)

// MaxSize limits the text that edits make. It is the size up to which a file is read to be changed.
const MaxSize = 64 << 20

// MaxLines limits the lines of a text that is edited by its lines, for each takes some memory.
const MaxLines = 8 << 20

// maxPlaces limits the places that one call changes, for each takes some memory.
const maxPlaces = 1 << 20

// Action is what an edit does.
type Action string

// The actions.
const (
	Replace      Action = "replace"       // Old becomes New
	ReplaceLines Action = "replace_lines" // lines Line to EndLine become New
	Insert       Action = "insert"        // New comes before line Line
	Append       Action = "append"        // New comes after the last line
)

// Edit is one edit.
type Edit struct {
	Op      Action `json:"op"`
	Old     string `json:"old"`
	New     string `json:"new"`
	All     bool   `json:"all"`      // every occurrence of Old
	Count   int    `json:"count"`    // of the occurrences, which are all replaced; 0: not given
	Line    int    `json:"line"`     // from 1
	EndLine int    `json:"end_line"` // 0: Line
}

// Collect returns the edits of a call as one list: those of a list, or a single one that
// stands outside of it. It sets the operation of those that only imply it.
func Collect(op string, edits []Edit, one Edit) ([]Edit, error) {
	single := one != Edit{}
	switch {
	case single && len(edits) > 0:
		return nil, tool.Errorf(op, tool.Invalid, "edits is given together with an edit outside it").
			WithHint("put every edit into edits")
	case single:
		edits = []Edit{one}
	case len(edits) == 0:
		return nil, tool.Errorf(op, tool.Invalid, "there is no edit to make").WithHint("give old and new, or edits")
	}
	for i, e := range edits {
		switch {
		case e.Op != "":
		case e.Old != "":
			edits[i].Op = Replace
		case e.Line > 0 && e.EndLine > 0:
			edits[i].Op = ReplaceLines
		}
	}
	return edits, nil
}

// Replacement replaces the bytes of a text from Start to End.
type Replacement struct {
	Start, End int
	Text       []byte
}

// Apply makes replacements, which must be in order and not overlap, as Plan returns
// them. It returns an error, and takes no memory, if the result would exceed MaxSize.
// The error names no operation and no file: the caller adds them.
func Apply(old []byte, list []Replacement) ([]byte, *tool.Error) {
	size := len(old)
	for _, s := range list {
		size += len(s.Text) - (s.End - s.Start)
	}
	if err := CheckSize(size); err != nil {
		return nil, err
	}
	out := make([]byte, 0, size)
	at := 0
	for _, s := range list {
		out = append(out, old[at:s.Start]...)
		out = append(out, s.Text...)
		at = s.End
	}
	return append(out, old[at:]...), nil
}

// MostBytes returns what the result of edits of a text of a size has at most. It is never
// more than MaxSize, which Apply holds.
func MostBytes(size int64, edits []Edit) int64 {
	most := size
	for _, e := range edits {
		times := int64(1)
		if e.Old != "" && (e.All || e.Count > 0) {
			times += most / int64(len(e.Old))
		}
		const endings = 2 // what a line takes at most
		if most += times * (int64(len(e.New)) + endings); most > MaxSize || most < 0 {
			return MaxSize
		}
	}
	return most
}

// errTooMuch is the cause of an error about a size, which no other order of the edits mends.
var errTooMuch = errors.New("nothing was changed")

func tooMuch(format string, args ...any) *tool.Error {
	e := invalid(format, args...)
	e.Err = errTooMuch
	return e
}

// CheckSize returns an error if a result of a size could not be read back.
func CheckSize(size int) *tool.Error {
	if size <= MaxSize {
		return nil
	}
	return tooMuch("the result would have %s; the most that can be changed in one piece is %s; nothing was changed",
		amount.Bytes(size), amount.Bytes(MaxSize)).
		WithHint("replace fewer occurrences, or a shorter text; to make a file this large, use a program such as sed through a shell tool")
}

// Plan finds the places of all edits in a text. The error names no operation and
// no file: the caller adds them.
func Plan(text []byte, edits []Edit) ([]Replacement, *tool.Error) {
	list, err := planAtOnce(text, edits)
	if err != nil && !errors.Is(err, errTooMuch) && len(edits) > 1 {
		inOrder, failed := planInOrder(text, edits)
		if failed == nil || errors.Is(failed, errTooMuch) {
			return inOrder, failed
		}
	}
	return list, err
}

// planInOrder makes edits one after the other, and returns the change as one
// replacement.
func planInOrder(text []byte, edits []Edit) ([]Replacement, *tool.Error) {
	now := text
	for _, e := range edits {
		if e.Op != Replace {
			return nil, invalid("only replacements can be made one after the other")
		}
		found, err := newPlanner(now).find(e)
		if err != nil {
			return nil, err
		}
		if now, err = Apply(now, found); err != nil {
			return nil, err
		}
	}
	return DiffSpan(text, now), nil
}

func planAtOnce(text []byte, edits []Edit) ([]Replacement, *tool.Error) {
	p := newPlanner(text)
	var list []Replacement
	for i, e := range edits {
		found, err := p.find(e)
		if err != nil {
			if len(edits) > 1 {
				err.Message = fmt.Sprintf("edit %d of %d: %s; none was made", i+1, len(edits), err.Message)
			}
			return nil, err
		}
		if list = append(list, found...); len(list) > maxPlaces {
			return nil, tooManyPlaces()
		}
	}
	slices.SortStableFunc(list, func(a, b Replacement) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(min(a.End-a.Start, 1), min(b.End-b.Start, 1)))
	})
	for i := 1; i < len(list); i++ {
		if list[i].Start < list[i-1].End {
			return nil, invalid("two edits overlap at line %d; none was made", p.lineAt(list[i].Start)).
				WithHint("join them into one; every edit refers to the file as it was before this call")
		}
	}
	return list, nil
}

func invalid(format string, args ...any) *tool.Error {
	return tool.Errorf("", tool.Invalid, format, args...)
}

// planner finds the places of edits in a text.
type planner struct {
	text   []byte
	starts []int // where each line begins; see index
	crlf   int   // lines that end in CRLF
	lf     int   // lines that end in LF alone
}

func newPlanner(text []byte) *planner {
	crlf := bytes.Count(text, []byte("\r\n"))
	return &planner{text: text, crlf: crlf, lf: bytes.Count(text, []byte("\n")) - crlf}
}

func tooManyPlaces() *tool.Error {
	return tooMuch("more than %d places would be changed in one call; nothing was changed", maxPlaces).
		WithHint("use a program such as sed through a shell tool")
}

// TooManyLines refuses a text with more than MaxLines lines.
func TooManyLines() *tool.Error {
	return tooMuch("the file has more than %d lines, too many to edit it by its lines; nothing was changed", MaxLines).
		WithHint("give old and new to filesystem.edit, or use a program such as sed through a shell tool")
}

func (p *planner) find(e Edit) ([]Replacement, *tool.Error) {
	if e.Op != Replace && p.crlf+p.lf > MaxLines {
		return nil, TooManyLines()
	}
	if e.Op != Replace && hasReadNumbers(e.New) {
		return nil, invalid("new seems to contain the line numbers that read writes before lines").
			WithHint("give the lines without the number and the tab before each")
	}
	switch e.Op {
	case Replace:
		return p.findText(e)
	case ReplaceLines:
		return p.findLines(e)
	case Insert, Append:
		return p.findInsertion(e)
	default:
		return nil, invalid("it is not clear what to do").
			WithHint(`give old and new to replace text, or op "replace_lines", "insert" or "append"`)
	}
}

func (p *planner) findText(e Edit) ([]Replacement, *tool.Error) {
	if e.Old == "" {
		return nil, invalid("old is empty").WithHint(`to add text, use op "insert" with a line, or op "append"`)
	}
	if e.Old == e.New {
		return nil, invalid("old and new are the same, so nothing would change")
	}
	var found []Replacement
	for _, pair := range p.spellings(e.Old, e.New) {
		if found = occurrences(p.text, pair[0], pair[1]); len(found) > 0 {
			break
		}
	}
	switch {
	case len(found) > maxPlaces:
		return nil, tooManyPlaces()
	case len(found) == 0:
		return nil, p.notFound(e.Old)
	case hasReadNumbers(e.New) && !hasReadNumbers(e.Old):
		return nil, invalid("new seems to contain the line numbers that read writes before lines").
			WithHint("give new without the number and the tab before each line")
	case e.Count > 0 && len(found) != e.Count:
		return nil, tool.Errorf("", tool.Conflict, "old occurs %s, not %d: %s",
			times(len(found)), e.Count, p.lineNumbers(found)).
			WithHint("read the file again, or set count to %d", len(found))
	case len(found) > 1 && !e.All && e.Count == 0:
		return nil, tool.Errorf("", tool.Ambiguous, "old occurs %s: %s", times(len(found)), p.lineNumbers(found)).
			WithHint("add lines around it until it is unique, or set all to true")
	}
	return found, nil
}

// spellings returns old and new with the line endings of the text, the likeliest
// first.
func (p *planner) spellings(old, new string) [][2]string {
	asGiven := [2]string{old, new}
	withLF := [2]string{toLF(old), toLF(new)}
	withCRLF := [2]string{toCRLF(old), toCRLF(new)}
	switch {
	case p.crlf > 0 && p.lf == 0:
		return [][2]string{withCRLF}
	case !strings.Contains(old, "\n"):
		return [][2]string{asGiven}
	case p.crlf == 0:
		return [][2]string{asGiven, withLF}
	default:
		return [][2]string{asGiven, withCRLF, withLF}
	}
}

func toLF(s string) string   { return strings.ReplaceAll(s, "\r\n", "\n") }
func toCRLF(s string) string { return strings.ReplaceAll(toLF(s), "\n", "\r\n") }

// occurrences finds where old occurs, up to one more than maxPlaces.
func occurrences(text []byte, old, new string) []Replacement {
	var found []Replacement
	needle, with := []byte(old), []byte(new)
	for at := 0; len(found) <= maxPlaces; {
		i := bytes.Index(text[at:], needle)
		if i < 0 {
			return found
		}
		at += i + len(needle)
		found = append(found, Replacement{at - len(needle), at, with})
	}
	return found
}

func (p *planner) findLines(e Edit) ([]Replacement, *tool.Error) {
	last := e.EndLine
	if last == 0 {
		last = e.Line
	}
	n := p.lines()
	if e.Line < 1 || last < e.Line || last > n {
		return nil, invalid("lines %d to %d are not in the file, which has %s", e.Line, last, lineCount(n)).
			WithHint("line numbers begin at 1; read the file to see them")
	}
	start, end := p.start(e.Line), p.start(last+1)
	text := p.asLines(e.New)
	if end == len(p.text) && !p.ended() {
		text = bytes.TrimSuffix(text, p.newline())
	}
	return []Replacement{{start, end, text}}, nil
}

func (p *planner) findInsertion(e Edit) ([]Replacement, *tool.Error) {
	n := p.lines()
	line := e.Line
	if e.Op == Append {
		line = n + 1
	}
	switch {
	case e.New == "":
		return nil, invalid("new is empty, so there is nothing to insert").WithHint(`"\n" is an empty line`)
	case line < 1 || line > n+1:
		return nil, invalid("line %d is not in the file, which has %s", line, lineCount(n)).
			WithHint("text is inserted before the line; use 1 to %d, where the last stands for the end", n+1)
	}
	at, text := p.start(line), p.asLines(e.New)
	if line == n+1 && !p.ended() {
		text = append(slices.Clone(p.newline()), bytes.TrimSuffix(text, p.newline())...)
	}
	return []Replacement{{at, at, text}}, nil
}

// asLines returns a text as complete lines with the endings of the file.
func (p *planner) asLines(s string) []byte {
	if s == "" {
		return nil
	}
	if p.crlf > 0 && p.lf == 0 {
		s = toCRLF(s)
	}
	if !strings.HasSuffix(s, "\n") {
		s += string(p.newline())
	}
	return []byte(s)
}

// newline returns the ending of most lines.
func (p *planner) newline() []byte {
	if p.crlf > p.lf {
		return []byte("\r\n")
	}
	return []byte("\n")
}

// ended reports whether the last line ends in a newline.
func (p *planner) ended() bool { return len(p.text) == 0 || p.text[len(p.text)-1] == '\n' }

func (p *planner) lines() int {
	p.index()
	return len(p.starts)
}

// start returns the start of a line; the line after the last starts at the end.
func (p *planner) start(line int) int {
	p.index()
	if line > len(p.starts) {
		return len(p.text)
	}
	return p.starts[line-1]
}

// index finds the starts of all lines, once.
func (p *planner) index() {
	if p.starts != nil || len(p.text) == 0 {
		return
	}
	p.starts = append(make([]int, 0, p.crlf+p.lf+1), 0)
	for at := lineEnd(p.text, 0); at < len(p.text); at = lineEnd(p.text, at) {
		p.starts = append(p.starts, at)
	}
}

func (p *planner) lineAt(offset int) int { return 1 + bytes.Count(p.text[:offset], []byte("\n")) }
