package tool

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Forbids reports whether a name below the root, or what it leads to, is closed to
// tools: it belongs to the kernel, or is private to the user. It costs nothing
// where nothing is hidden.
func (g Grant) Forbids(name string) bool {
	if len(g.HiddenPaths) == 0 && len(g.HiddenFiles) == 0 || g.Root == nil {
		return false
	}
	full := filepath.Join(g.Workspace, name)
	for _, path := range g.HiddenPaths { // it need not exist
		if rel, err := filepath.Rel(path, full); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	for at := filepath.Clean(name); ; at = filepath.Dir(at) {
		if info, err := g.Root.Stat(at); err == nil && g.hides(info) {
			return true
		}
		if at == "." || at == string(filepath.Separator) {
			return false
		}
	}
}

// IsHidden reports whether something met in a folder is closed to tools.
func (g Grant) IsHidden(dir *os.Root, name string) bool {
	if len(g.HiddenFiles) == 0 {
		return false
	}
	info, err := dir.Stat(name)
	return err == nil && g.hides(info)
}

func (g Grant) hides(info fs.FileInfo) bool {
	for _, h := range g.HiddenFiles {
		if os.SameFile(h, info) {
			return true
		}
	}
	return false
}

// ContainsHidden reports whether something that is closed to tools lies below a
// name, so that what is done to the name would be done to it.
func (g Grant) ContainsHidden(name string) bool {
	for _, path := range g.HiddenPaths {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if rel, err := filepath.Rel(filepath.Join(g.Workspace, name), path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
