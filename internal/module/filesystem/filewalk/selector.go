package filewalk

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"callgate/internal/module/filesystem/pathglob"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// Selector selects files by pattern.
type Selector struct {
	Pattern *pathglob.Pattern
	Hidden  bool // wildcards match hidden names, too
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
	return Selector{p, hidden}, nil
}

// selects reports whether Select would visit the path.
func (s Selector) selects(path string) bool {
	return !slices.Contains(strings.Split(path, "/"), gitDir) && s.Pattern.Matches(path, s.Hidden)
}

// Select is Walk for the entries that a selector selects. It enters only
// directories in which something can match.
func Select(
	ctx context.Context, w workfile.Workspace, start workfile.Path, sel Selector, visit func(Entry) error,
) (unread []string, err error) {
	stack := []pathglob.States{sel.Pattern.Start()}
	return Walk(ctx, w, start, func(e Entry) error {
		if e.Name() == gitDir {
			return fs.SkipDir
		}
		stack = append(stack[:e.Depth], sel.Pattern.Step(stack[e.Depth-1], e.Name(), sel.Hidden))
		states := stack[e.Depth]
		if sel.Pattern.Matched(states) {
			if err := visit(e); err != nil {
				return err
			}
		}
		if !sel.Pattern.CanMatchBelow(states) {
			return fs.SkipDir
		}
		return nil
	})
}
