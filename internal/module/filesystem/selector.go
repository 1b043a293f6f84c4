package filesystem

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"callgate/internal/module/filesystem/pathglob"
	"callgate/tool"
)

// selector chooses files by pattern.
type selector struct {
	pattern *pathglob.Pattern
	all     bool // hidden names too
}

// gitDir is never searched unless the search begins in it.
const gitDir = ".git"

// selects reports whether a walk would choose the path.
func (s selector) selects(path string) bool {
	return !slices.Contains(strings.Split(path, "/"), gitDir) && s.pattern.Matches(path, s.all)
}

// walkSelected meets what a selector chooses below a directory, in the order
// of byPath, and enters no directory in vain.
func (w workspace) walkSelected(ctx context.Context, start resolvedPath, sel selector, visit func(entry) error) ([]string, error) {
	stack := []pathglob.States{sel.pattern.Start()}
	return w.walk(ctx, start, func(e entry) error {
		if e.Name() == gitDir {
			return fs.SkipDir
		}
		stack = append(stack[:e.depth], sel.pattern.Step(stack[e.depth-1], e.Name(), sel.all))
		at := stack[e.depth]
		if sel.pattern.Matched(at) {
			if err := visit(e); err != nil {
				return err
			}
		}
		if !sel.pattern.CanMatchBelow(at) {
			return fs.SkipDir
		}
		return nil
	})
}

// parse reads a pattern as a model writes it.
func (w workspace) parse(text string) (*pathglob.Pattern, error) {
	p, err := pathglob.Parse(text)
	if err != nil {
		return nil, tool.Errorf(w.op, tool.Invalid, "the pattern %q cannot be read: %v", tool.Truncate(text), err).
			WithHint("* is any characters, ** any directories, ? one character, [a-z] a set, {a,b} either")
	}
	return p, nil
}
