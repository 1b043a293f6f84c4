package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"callgate/tool"
)

// position is where something stands in the file: lines and columns from 1,
// columns in letters. The zero place is the file as a whole.
type position struct{ line, col int }

// problem is one mistake: what is wrong, where, and the way out.
type problem struct {
	at   position
	what string
	out  string
}

// report gathers the mistakes of one file.
type report struct {
	file     string
	lines    []string
	problems []problem
	more     int       // found after there were enough
	beside   []*report // of other files
}

const (
	maxProblems = 10  // told at once
	maxKept     = 100 // kept, to tell the first ones in the file
	maxQuoted   = 100 // letters of a source line
	maxText     = 500 // bytes of what is wrong, and of the way out
)

// fail adds a mistake. One place has one mistake, the first that was found.
func (r *report) fail(at position, out, format string, args ...any) {
	for _, p := range r.problems {
		if p.at == at {
			return
		}
	}
	if len(r.problems) == maxKept {
		r.more++
		return
	}
	r.problems = append(r.problems, problem{at, fmt.Sprintf(format, args...), out})
}

// merge adds the reports of files that were read beside this one.
func (r *report) merge(others []*report) *report {
	r.beside = others
	return r
}

// err is all mistakes as one error, or nil.
func (r *report) err() error {
	var texts []string
	for _, one := range append([]*report{r}, r.beside...) {
		if text := one.summary(); text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return &tool.Error{Op: "app.Parse", Kind: tool.Invalid, Message: strings.Join(texts, "\n")}
}

// summary is the mistakes of this file, or "".
func (r *report) summary() string {
	if len(r.problems) == 0 {
		return ""
	}
	slices.SortStableFunc(r.problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.at.line, b.at.line), cmp.Compare(a.at.col, b.at.col))
	})
	var b strings.Builder
	for i, p := range r.problems {
		if i == maxProblems {
			fmt.Fprintf(&b, "\n… and %d more in %s", len(r.problems)-i+r.more, r.file)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		r.write(&b, p)
	}
	return b.String()
}

// write shows a mistake: its place, its line, a caret, and the way out.
func (r *report) write(b *strings.Builder, p problem) {
	fmt.Fprintf(b, "%s: %s", r.where(p.at), tool.TruncateTo(p.what, maxText))
	if p.at.line >= 1 && p.at.line <= len(r.lines) {
		text, caret := excerpt(r.lines[p.at.line-1], p.at.col)
		fmt.Fprintf(b, "\n%5d | %s\n      | %s^", p.at.line, text, strings.Repeat(" ", caret))
	}
	if p.out != "" {
		fmt.Fprintf(b, "\n      = %s", tool.TruncateTo(p.out, maxText))
	}
}

// where writes a place as editors and terminals understand it.
func (r *report) where(at position) string {
	if at.line == 0 {
		return r.file
	}
	return fmt.Sprintf("%s:%d:%d", r.file, at.line, max(at.col, 1))
}

// excerpt returns the part of a line around a column, safe to print, and how
// many letters stand before the column in it.
func excerpt(line string, col int) (text string, before int) {
	letters := []rune(strings.TrimRight(line, " "))
	before = min(max(col-1, 0), len(letters))
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

// quote shows a piece of the file in a sentence.
func quote(s string) string { return fmt.Sprintf("%q", tool.TruncateTo(s, 60)) }
