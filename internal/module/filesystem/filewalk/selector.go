package filewalk

import (
	"context"
	"io/fs"

	"callgate/internal/module/filesystem/pathglob"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// Selector selects files by pattern.
type Selector struct {
	Pattern *pathglob.Pattern
	Hidden  bool // wildcards match hidden names, too
	Ignored bool // and those that ignore files name
}

// gitDir is searched only if the search begins in it.
const gitDir = ".git"

// NewSelector parses a pattern that a model wrote.
func NewSelector(w workfile.Workspace, pattern string, hidden bool) (Selector, error) {
	p, err := pathglob.Parse(pattern)
	if err != nil {
		return Selector{}, tool.Errorf(w.Op, tool.Invalid, "the pattern %q cannot be read: %v", tool.Truncate(pattern), err).
			WithHint("* is any characters, ** any directories, ? one character, [a-z] a set, {a,b} either")
	}
	return Selector{Pattern: p, Hidden: hidden}, nil
}

// maxLeftOut limits the names that LeftOut has.
const maxLeftOut = 5

// LeftOut is what a walk left out because ignore files name it.
type LeftOut struct {
	Count int      // directories count once, whatever is in them
	Names []string // the first ones, a directory with a slash at its end
}

// Add adds an entry.
func (l *LeftOut) Add(e Entry) {
	if l.Count++; len(l.Names) < maxLeftOut {
		name := e.Path
		if e.IsDir() {
			name += "/"
		}
		l.Names = append(l.Names, name)
	}
}

// Report says what a walk did not visit.
type Report struct {
	Unread  []string // directories that could not be read
	LeftOut LeftOut
}

// Select is Walk for the entries that a selector selects. It enters only
// directories in which something can match. What ignore files name is left out
// unless the selector wants it, or its pattern spells the name.
func Select(
	ctx context.Context, w workfile.Workspace, start workfile.Path, sel Selector, visit func(Entry) error,
) (r Report, err error) {
	var in *ignores
	if !sel.Ignored {
		in = ignoresAt(w, start.Name)
	}
	stack := []pathglob.States{sel.Pattern.Start()}
	r.Unread, err = walk(ctx, w, start, in, func(e Entry) error {
		if e.Name() == gitDir {
			return fs.SkipDir
		}
		from := stack[e.Depth-1]
		stack = append(stack[:e.Depth], sel.Pattern.Step(from, e.Name(), sel.Hidden))
		states := stack[e.Depth]
		matched, below := sel.Pattern.Matched(states), e.IsDir() && sel.Pattern.CanMatchBelow(states)
		if e.Ignored && (matched || below) && !sel.Pattern.Spells(from, e.Name()) {
			r.LeftOut.Add(e)
			return fs.SkipDir
		}
		if matched {
			if err := visit(e); err != nil {
				return err
			}
		}
		if !below {
			return fs.SkipDir
		}
		return nil
	})
	return r, err
}
