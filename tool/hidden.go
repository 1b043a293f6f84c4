package tool

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Forbids reports whether a name below the root, or what it leads to, lies in a
// folder that belongs to the kernel. It costs nothing where there is none.
func (g Grant) Forbids(name string) bool {
	if len(g.HiddenFiles) == 0 || g.Root == nil {
		return false
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

// IsHidden reports whether something met in a folder is one that belongs to the
// kernel.
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

// ContainsHidden reports whether a folder of the kernel lies below a name, so that what
// is done to the name would be done to it.
func (g Grant) ContainsHidden(name string) bool {
	for _, path := range g.HiddenPaths {
		if rel, err := filepath.Rel(filepath.Join(g.Workspace, name), path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
