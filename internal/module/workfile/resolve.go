package workfile

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"callgate/tool"
)

// Path is a path inside the workspace. Only Resolve makes one.
type Path struct {
	Shown string      // as the caller wrote it, relative to the workspace, with slashes
	Name  string      // for the root, with symbolic links followed
	Info  fs.FileInfo // nil if there is no such file
}

// maxLinks limits the symbolic links in one path, as systems do.
const maxLinks = 40

// Resolve follows a path as a caller wrote it. It follows the last symbolic link
// only with last. A file that does not exist is not an error.
func (w Workspace) Resolve(path string, last bool) (Path, error) {
	name, err := w.relative(path)
	if err != nil {
		return Path{}, err
	}
	p := Path{Shown: filepath.ToSlash(name), Name: name}
	p.Info, err = w.Root.Lstat(name)
	switch {
	case err == nil && (!last || p.Info.Mode()&fs.ModeSymlink == 0):
	case err == nil, w.escapes(err), errors.Is(err, fs.ErrNotExist):
		// A link on the way may be absolute, or lead to a file that does not exist.
		p.Name, p.Info, err = w.follow(name, last)
	}
	if err != nil {
		return Path{}, w.Fail(p.Shown, err)
	}
	if w.Grant.Forbids(p.Name) {
		return Path{}, w.ClosedError(p.Shown)
	}
	return p, nil
}

// Existing is Resolve for a file that must exist.
func (w Workspace) Existing(path string, last bool) (Path, error) {
	p, err := w.Resolve(path, last)
	if err == nil && p.Info == nil {
		return Path{}, w.Fail(p.Shown, fs.ErrNotExist)
	}
	return p, err
}

// Directory is Existing for a directory.
func (w Workspace) Directory(path string) (Path, error) {
	p, err := w.Existing(path, true)
	if err != nil {
		return Path{}, err
	}
	if !p.Info.IsDir() {
		return Path{}, tool.Errorf(w.Op, tool.Invalid, "%q is a %s, not a directory", p.Shown, KindOf(p.Info.Mode())).
			WithHint("use filesystem.read for a file")
	}
	return p, nil
}

// ClosedError refuses access to a file that is closed to tools.
func (w Workspace) ClosedError(shown string) error {
	return tool.Errorf(w.Op, tool.Denied,
		"%q is closed to tools: the kernel's state, or the user's keys and credentials, lie there", tool.Truncate(shown)).
		WithHint("work elsewhere; a human can copy what is needed into the project")
}

// relative makes a path relative to the workspace, or refuses it.
func (w Workspace) relative(path string) (string, error) {
	if strings.TrimSpace(path) == "" {
		return "", tool.Errorf(w.Op, tool.Invalid, "the path is empty").WithHint(`"." is the workspace itself`)
	}
	if strings.ContainsRune(path, 0) {
		return "", tool.Errorf(w.Op, tool.Invalid, "the path %q holds a zero byte", tool.Truncate(path))
	}
	name := filepath.FromSlash(path)
	if !filepath.IsAbs(name) {
		name = filepath.Join(w.Dir, name)
	}
	rel, err := filepath.Rel(w.Dir, name)
	if err != nil || !filepath.IsLocal(rel) {
		return "", w.OutsideError(path, "is outside the workspace")
	}
	return rel, nil
}

// OutsideError refuses a path outside the workspace.
func (w Workspace) OutsideError(path, why string) *tool.Error {
	return tool.Errorf(w.Op, tool.Denied, "%q %s", tool.Truncate(path), why).
		WithHint("only files under %s can be reached; give a path relative to it", w.Dir)
}

// follow replaces each symbolic link in a name by its target, step by step. After
// a name that does not exist, the rest is taken as it is.
func (w Workspace) follow(name string, last bool) (string, fs.FileInfo, error) {
	rest := strings.Split(name, string(filepath.Separator))
	done := "."
	for links := 0; len(rest) > 0; {
		next := filepath.Join(done, rest[0])
		info, err := w.Root.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(next, filepath.Join(rest[1:]...)), nil, nil
		}
		if err != nil {
			return "", nil, err
		}
		rest = rest[1:]
		if info.Mode()&fs.ModeSymlink == 0 || !last && len(rest) == 0 {
			if done = next; len(rest) == 0 {
				return done, info, nil
			}
			continue
		}
		if links++; links > maxLinks {
			return "", nil, syscall.ELOOP
		}
		target, err := w.readlink(next)
		if err != nil {
			return "", nil, err
		}
		rest = append(strings.Split(target, string(filepath.Separator)), rest...)
		done = "."
	}
	info, err := w.Root.Lstat(done)
	return done, info, err
}

// readlink returns the target of a link, relative to the workspace.
func (w Workspace) readlink(name string) (string, error) {
	target, err := w.Root.Readlink(name)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(w.Dir, filepath.Dir(name), target)
	}
	rel, err := filepath.Rel(w.Dir, target)
	if err != nil || !filepath.IsLocal(rel) {
		return "", w.OutsideError(filepath.ToSlash(name), "is a symbolic link that leads outside the workspace")
	}
	return rel, nil
}
