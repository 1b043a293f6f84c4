package filewalk

import (
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/module/filesystem/pathglob"
	"callgate/internal/module/workfile"
)

// selection says of single paths below a directory what Select does on its way. It
// reads the ignore files of those directories alone that the paths are in.
type selection struct {
	Selector
	start *os.Root
	dirs  map[string]selectedDir
}

// selectedDir is what a walk knows when it is in a directory.
type selectedDir struct {
	entered bool
	states  pathglob.States
	in      *ignores
}

func newSelection(w workfile.Workspace, at workfile.Path, start *os.Root, sel Selector) *selection {
	top := selectedDir{entered: true, states: sel.Pattern.Start()}
	if !sel.Ignored {
		top.in = ignoresAt(w, at.Name)
	}
	return &selection{sel, start, map[string]selectedDir{"": top}}
}

// selects reports whether Select would visit the file.
func (s *selection) selects(path string) bool {
	at, name := splitName(path)
	d := s.dir(at)
	if !d.entered || name == gitDir || !s.Pattern.Matched(s.Pattern.Step(d.states, name, s.Hidden)) {
		return false
	}
	return !d.in.ignored(path, false) || s.Pattern.Spells(d.states, name)
}

func (s *selection) dir(path string) selectedDir {
	if d, known := s.dirs[path]; known {
		return d
	}
	at, name := splitName(path)
	above := s.dir(at)
	d := selectedDir{in: above.in}
	if above.entered && name != gitDir {
		d.states = s.Pattern.Step(above.states, name, s.Hidden)
		d.entered = s.Pattern.CanMatchBelow(d.states)
	}
	if d.entered && d.in.ignored(path, true) {
		d.entered, d.in = s.Pattern.Spells(above.states, name), d.in.forget()
	}
	if d.entered && d.in != nil {
		d.in = d.in.add(s.start, filepath.FromSlash(path), path)
	}
	s.dirs[path] = d
	return d
}

func splitName(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}
