// Package patchfile reads patches: what they do to which files. It touches no files.
//
// Two forms are read. The one that begins with "*** Begin Patch":
//
//	*** Begin Patch
//	*** Add File: PATH          then its lines, each after a +
//	*** Delete File: PATH
//	*** Update File: PATH       then hunks
//	*** Move to: PATH           right after Update File: its new path
//	@@ LINE                     a hunk; LINE, which need not be there, stands above it
//	 kept line                  (several @@ lines follow each other from outside to inside)
//	-line that goes
//	+line that comes
//	*** End of File             the hunk ends at the end of the file
//	*** End Patch
//
// and the unified diff, as diff -u and git diff write it. The numbers in its @@ lines
// are only where to look first: a model counts badly, so the lines decide. Where both
// names begin as Git's do, with a/ and b/, these are left out.
//
// Law: the names that [Paths] returns are all that a patch touches. The gate locks
// and judges these, and the tool touches no other, because both read with [Parse].
package patchfile

import (
	"fmt"
	"slices"
	"strings"
)

// Action is what a patch does to a file.
type Action int

// The actions.
const (
	Update Action = iota
	Add
	Delete
)

// Patch is a parsed patch.
type Patch struct {
	Files []File
}

// File is what a patch does to one file.
type File struct {
	Action Action
	Path   string
	MoveTo string   // "": it stays
	Line   int      // where it begins in the patch
	Hunks  []Hunk   // of an update
	Lines  []string // of a new file
	End    End
}

// End is whether a file ends in a newline after the patch.
type End int

// The ends. A new file ends in a newline unless the patch says otherwise.
const (
	SameEnd End = iota // as before
	WithNewline
	WithoutNewline
)

// Hunk is one change: lines that follow each other.
type Hunk struct {
	Line      int      // where it begins in the patch
	Above     []string // lines that stand above it, from outside to inside
	Start     int      // where it may begin in the old file; 0: not said
	Lines     []Line
	EndOfFile bool // it ends with the file
}

// Line is a line of a hunk.
type Line struct {
	Sign byte // ' ', '-' or '+'
	Text string
	bare bool // a blank line that lacks its sign
}

// Error is a mistake in a patch.
type Error struct {
	Line int // from 1; 0: the whole patch
	Text string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d of the patch: %s", e.Line, e.Text)
}

const beginPatch = "*** Begin Patch"

// Parse reads a patch in either form.
func Parse(text string) (*Patch, error) {
	r := &reader{lines: splitLines(text)}
	r.skipFence()
	p := &Patch{}
	var err error
	if line, ok := r.peek(); ok && strings.HasPrefix(line, "*** ") && !isContextDiff(r) {
		err = r.readMarked(p)
	} else {
		err = r.readUnified(p)
	}
	if err != nil {
		return nil, err
	}
	if len(p.Files) == 0 {
		return nil, &Error{0, "the patch names no file"}
	}
	return p, nil
}

// Paths returns the names of all files that a patch touches, each once and as the
// patch writes it.
func Paths(text string) ([]string, error) {
	p, err := Parse(text)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, f := range p.Files {
		for _, name := range []string{f.Path, f.MoveTo} {
			if name != "" && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all, nil
}

// reader goes through the lines of a patch.
type reader struct {
	lines []string
	at    int
}

func splitLines(text string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func (r *reader) peek() (string, bool) {
	if r.at >= len(r.lines) {
		return "", false
	}
	return r.lines[r.at], true
}

// line is the number of the line that peek returns.
func (r *reader) line() int { return r.at + 1 }

func (r *reader) errorf(format string, args ...any) error {
	return &Error{r.line(), fmt.Sprintf(format, args...)}
}

// skipFence skips blank lines, and the fence and the first line of a here-document
// that models put around a patch.
func (r *reader) skipFence() {
	for ; r.at < len(r.lines); r.at++ {
		line := strings.TrimSpace(r.lines[r.at])
		if line != "" && !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "apply_patch <<") {
			return
		}
	}
}

// isContextDiff reports the form that diff -c writes, which nobody asks for.
func isContextDiff(r *reader) bool {
	return r.at+1 < len(r.lines) && strings.HasPrefix(r.lines[r.at+1], "--- ")
}

// name reads the name of a file after a prefix.
func (r *reader) name(line, prefix string) (string, error) {
	name := strings.TrimSpace(strings.TrimPrefix(line, prefix))
	if name == "" {
		return "", r.errorf("%q names no file", strings.TrimSpace(prefix))
	}
	return name, nil
}

// trimBare removes the blank lines at the end of a hunk that lack their sign: they
// part the hunk from what follows.
func trimBare(lines []Line) []Line {
	for len(lines) > 0 && lines[len(lines)-1].bare {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// hunkLine reads a line of a hunk; false if it is none.
func hunkLine(line string) (Line, bool) {
	switch {
	case line == "":
		return Line{Sign: ' ', bare: true}, true
	case line[0] == ' ' || line[0] == '-' || line[0] == '+':
		return Line{Sign: line[0], Text: line[1:]}, true
	default:
		return Line{}, false
	}
}
