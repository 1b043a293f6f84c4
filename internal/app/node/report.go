package node

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"callgate/tool"
)

// Position is where something is written: a line and a column, both from 1 and
// the column in characters. The zero Position is the file as a whole.
type Position struct{ Line, Column int }

// problem is one mistake: what is wrong, where, and the way out.
type problem struct {
	at     Position
	what   string
	remedy string
}

// Report collects the mistakes of one file.
type Report struct {
	file     string
	lines    []string
	problems []problem
	dropped  int // mistakes beyond maxKept
}

const (
	maxShown  = 10  // mistakes in a message
	maxKept   = 100 // mistakes kept, so that the first ones of the file can be shown
	maxQuoted = 100 // characters of a source line
	maxText   = 500 // bytes of what is wrong, and of the way out
)

// Fail adds a mistake. A position keeps only the first mistake found there.
func (r *Report) Fail(at Position, remedy, format string, args ...any) {
	for _, p := range r.problems {
		if p.at == at {
			return
		}
	}
	if len(r.problems) == maxKept {
		r.dropped++
		return
	}
	r.problems = append(r.problems, problem{at, fmt.Sprintf(format, args...), remedy})
}

// Take adds the mistakes of a reader that read apart.
func (r *Report) Take(of *Report) {
	for _, p := range of.problems {
		r.Fail(p.at, p.remedy, "%s", p.what)
	}
	r.dropped += of.dropped
}

// Err returns the mistakes of several files as one error, or nil.
func Err(reports ...*Report) error {
	var texts []string
	for _, r := range reports {
		if text := r.text(); text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return &tool.Error{
		Op: "app.Parse", Kind: tool.Invalid, Message: strings.Join(texts, "\n"), Err: &mistakes{places(reports)},
	}
}

// mistakes is the cause of the error of files with mistakes: where they are, and nothing of what is written there.
type mistakes struct{ places []string }

// Error says nothing: the message has it all.
func (m *mistakes) Error() string { return "" }

func places(reports []*Report) (all []string) {
	for _, r := range reports {
		for _, p := range r.problems[:min(len(r.problems), maxShown)] {
			all = append(all, r.Where(p.at))
		}
	}
	return all
}

// WithoutContents returns an error for a client that may name files but not read them: it gives the positions of the
// mistakes in a file and quotes nothing. Other errors are returned unchanged.
func WithoutContents(err error) error {
	var m *mistakes
	if !errors.As(err, &m) {
		return err
	}
	return tool.Errorf("app.Parse", tool.Invalid, "there are mistakes at %s", strings.Join(m.places, ", ")).
		WithHint("callgate app check FILE, on the machine itself, shows what they are")
}

// text shows the mistakes of the file in its order, or returns "".
func (r *Report) text() string {
	slices.SortStableFunc(r.problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Column, b.at.Column))
	})
	var b strings.Builder
	for i, p := range r.problems {
		if i == maxShown {
			fmt.Fprintf(&b, "\n… and %d more in %s", len(r.problems)-i+r.dropped, r.file)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		r.write(&b, p)
	}
	return b.String()
}

// write shows a mistake: its position, its line, a caret, and the way out.
func (r *Report) write(b *strings.Builder, p problem) {
	fmt.Fprintf(b, "%s: %s", r.Where(p.at), tool.TruncateTo(p.what, maxText))
	if p.at.Line >= 1 && p.at.Line <= len(r.lines) {
		text, caret := excerpt(r.lines[p.at.Line-1], p.at.Column)
		fmt.Fprintf(b, "\n%5d | %s\n      | %s^", p.at.Line, text, strings.Repeat(" ", caret))
	}
	if p.remedy != "" {
		fmt.Fprintf(b, "\n      = %s", tool.TruncateTo(p.remedy, maxText))
	}
}

// Where writes a position as editors and terminals understand it.
func (r *Report) Where(at Position) string {
	if at.Line == 0 {
		return r.file
	}
	return fmt.Sprintf("%s:%d:%d", r.file, at.Line, max(at.Column, 1))
}

// excerpt returns the part of a line around a column, safe to print, and the
// number of characters before that column in it.
func excerpt(line string, column int) (text string, before int) {
	letters := []rune(strings.TrimRight(line, " "))
	before = min(max(column-1, 0), len(letters))
	start := 0
	if before > maxQuoted*3/4 {
		start = before - maxQuoted/2
	}
	end := min(len(letters), start+maxQuoted)
	shown := slices.Clone(letters[start:end])
	for i, c := range shown {
		switch {
		case c == '\t':
			shown[i] = '→'
		case !unicode.IsPrint(c):
			shown[i] = '�'
		}
	}
	if start > 0 {
		shown[0] = '…'
	}
	if end < len(letters) {
		shown[len(shown)-1] = '…'
	}
	return string(shown), before - start
}

// Quote shows a piece of the file in a sentence.
func Quote(s string) string { return fmt.Sprintf("%q", tool.TruncateTo(s, 60)) }
