package shell

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callgate/tool"
)

// workspace is the folder that commands run in.
type workspace struct {
	root *os.Root
	dir  string
}

// folder finds the folder in which a command runs.
func (w workspace) folder(name string) (string, error) {
	if name == "" {
		return w.dir, nil
	}
	path, err := w.locate(name)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", tool.Errorf(op, tool.NotFound, "there is no folder %q in the workspace to run in", tool.Truncate(name)).
			WithHint("cwd is relative to the workspace; make the folder first, or omit cwd")
	case err != nil:
		return "", tool.Errorf(op, tool.Failed, "the folder %q cannot be entered: %w", tool.Truncate(name), err)
	case !info.IsDir():
		return "", tool.Errorf(op, tool.Invalid, "%q is not a folder", tool.Truncate(name)).WithHint("cwd names a folder")
	}
	return path, nil
}

// locate makes a path canonical, as far as it exists, and refuses one that leads
// out of the workspace.
func (w workspace) locate(name string) (string, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.dir, path)
	}
	rest, path := "", filepath.Clean(path)
	for {
		canonical, err := filepath.EvalSymlinks(path)
		if err == nil {
			path = filepath.Join(canonical, rest)
			break
		}
		parent := filepath.Dir(path)
		if !errors.Is(err, fs.ErrNotExist) || parent == path || isLink(path) {
			return "", tool.Errorf(op, tool.Invalid, "the path %q cannot be followed: %w", tool.Truncate(name), err)
		}
		rest, path = filepath.Join(filepath.Base(path), rest), parent
	}
	if rel, err := filepath.Rel(w.dir, path); err != nil || !filepath.IsLocal(rel) {
		return "", tool.Errorf(op, tool.Denied, "the path %q lies outside the workspace", tool.Truncate(name)).
			WithHint("the workspace is %s; name a path inside it", w.dir)
	}
	return path, nil
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// writePaths are the paths that a command may write. Those that did not exist were
// created, because a sandbox can only leave open what exists.
type writePaths struct {
	workspace
	paths []string // canonical
	made  []string // what was created, in order, relative to the workspace
}

// createWritePaths creates what a command says it writes, if it does not exist.
func (w workspace) createWritePaths(names []string) (*writePaths, error) {
	p := &writePaths{workspace: w}
	for _, name := range names {
		path, err := w.locate(name)
		if err == nil {
			err = p.create(path, strings.HasSuffix(name, "/"))
		}
		if err != nil {
			p.removeUnused()
			return nil, err
		}
		p.paths = append(p.paths, path)
	}
	return p, nil
}

// create creates a file or a folder that does not exist, and the folders above it.
func (p *writePaths) create(path string, folder bool) error {
	rel, err := filepath.Rel(p.dir, path)
	if err != nil || rel == "." {
		return err
	}
	parts := strings.Split(rel, string(filepath.Separator))
	for i := range parts {
		name := filepath.Join(parts[:i+1]...)
		if folder || i < len(parts)-1 {
			err = p.root.Mkdir(name, 0o777)
		} else {
			var f *os.File
			if f, err = p.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666); err == nil {
				err = f.Close()
			}
		}
		switch {
		case err == nil:
			p.made = append(p.made, name)
		case !errors.Is(err, fs.ErrExist):
			return tool.Errorf(op, tool.Failed, "%q cannot be created for the command: %w", tool.Truncate(rel), err)
		}
	}
	return nil
}

// removeUnused removes what was created and not used: files that are still empty,
// and empty folders.
func (p *writePaths) removeUnused() {
	for i := len(p.made) - 1; i >= 0; i-- {
		info, err := p.root.Lstat(p.made[i])
		if err == nil && (info.IsDir() || info.Mode().IsRegular() && info.Size() == 0) {
			_ = p.root.Remove(p.made[i]) // a folder that is in use stays
		}
	}
}
