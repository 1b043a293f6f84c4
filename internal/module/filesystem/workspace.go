package filesystem

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"callgate/tool"
)

// workspace is the folder of one call: the root that confines it, its
// absolute name, and the operation that errors name.
type workspace struct {
	op    string
	root  *os.Root
	dir   string
	grant tool.Grant // for what belongs to the kernel
}

// resolvedPath is a path that was found to lie inside the workspace. Only find makes
// one.
type resolvedPath struct {
	shown string      // as asked for, relative to the workspace, with slashes
	name  string      // for the root, symbolic links followed
	info  fs.FileInfo // nil when nothing is there
}

// maxLinks is how many symbolic links one path may hold, as systems have it.
const maxLinks = 40

// resolve takes a path as the model wrote it and says where it leads. Links are
// followed, the last one only when last is true. That nothing is there is not
// an error.
func (w workspace) resolve(path string, last bool) (resolvedPath, error) {
	name, err := w.relPath(path)
	if err != nil {
		return resolvedPath{}, err
	}
	p := resolvedPath{shown: filepath.ToSlash(name), name: name}
	p.info, err = w.root.Lstat(name)
	switch {
	case err == nil && (!last || p.info.Mode()&fs.ModeSymlink == 0):
		if w.grant.Forbids(p.name) {
			return resolvedPath{}, w.rejectKernelFiles(p.shown)
		}
		return p, nil
	case err == nil, w.escapes(err):
		p.name, p.info, err = w.follow(name, last)
	case errors.Is(err, fs.ErrNotExist):
		// A link on the way may lead to a place that does not exist yet.
		p.name, p.info, err = w.follow(name, last)
	}
	if err != nil {
		return resolvedPath{}, w.fail(p.shown, err)
	}
	if w.grant.Forbids(p.name) {
		return resolvedPath{}, w.rejectKernelFiles(p.shown)
	}
	return p, nil
}

// rejectKernelFiles refuses what belongs to the kernel.
func (w workspace) rejectKernelFiles(shown string) error {
	return tool.Errorf(w.op, tool.Denied, "%q belongs to the kernel", tool.Truncate(shown)).WithHint("its state is no tool's business; work elsewhere")
}

// existing is find for what must be there.
func (w workspace) existing(path string, last bool) (resolvedPath, error) {
	p, err := w.resolve(path, last)
	if err == nil && p.info == nil {
		return resolvedPath{}, w.fail(p.shown, fs.ErrNotExist)
	}
	return p, err
}

// relPath spells a path relative to the workspace, or refuses it.
func (w workspace) relPath(path string) (string, error) {
	if strings.TrimSpace(path) == "" {
		return "", tool.Errorf(w.op, tool.Invalid, "the path is empty").WithHint(`"." is the workspace itself`)
	}
	if strings.ContainsRune(path, 0) {
		return "", tool.Errorf(w.op, tool.Invalid, "the path %q holds a zero byte", tool.Truncate(path))
	}
	name := filepath.FromSlash(path)
	if !filepath.IsAbs(name) {
		name = filepath.Join(w.dir, name)
	}
	rel, err := filepath.Rel(w.dir, name)
	if err != nil || !filepath.IsLocal(rel) {
		return "", w.outside(path, "is outside the workspace")
	}
	return rel, nil
}

func (w workspace) outside(path, why string) *tool.Error {
	return tool.Errorf(w.op, tool.Denied, "%q %s", tool.Truncate(path), why).
		WithHint("only files under %s can be reached; give a path relative to it", w.dir)
}

// follow walks a name step by step and replaces each symbolic link by what it
// points to. What does not exist ends the walk: the rest is taken as written.
func (w workspace) follow(name string, last bool) (string, fs.FileInfo, error) {
	rest := strings.Split(name, string(filepath.Separator))
	done := "."
	for links := 0; len(rest) > 0; {
		next := filepath.Join(done, rest[0])
		info, err := w.root.Lstat(next)
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
		to, err := w.readlink(next)
		if err != nil {
			return "", nil, err
		}
		rest = append(strings.Split(to, string(filepath.Separator)), rest...)
		done = "."
	}
	info, err := w.root.Lstat(done)
	return done, info, err
}

// readlink says where a link points, relative to the workspace.
func (w workspace) readlink(name string) (string, error) {
	to, err := w.root.Readlink(name)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(w.dir, filepath.Dir(name), to)
	}
	rel, err := filepath.Rel(w.dir, to)
	if err != nil || !filepath.IsLocal(rel) {
		return "", w.outside(filepath.ToSlash(name), "is a symbolic link that leads outside the workspace")
	}
	return rel, nil
}

// escapes reports whether err is the root's refusal to leave it. The root does
// not export that error, so it is asked for one to compare with.
func (w workspace) escapes(err error) bool {
	if errors.Is(err, fs.ErrClosed) {
		return false
	}
	_, refusal := w.root.Lstat("..")
	return refusal != nil && errors.Is(err, cause(refusal))
}

// open opens a regular file for reading, and nothing else: what is not one is
// refused before it is opened, and again after, should it have been swapped.
func (w workspace) open(p resolvedPath) (*os.File, fs.FileInfo, error) {
	if err := w.regular(p.shown, p.info); err != nil {
		return nil, nil, err
	}
	f, err := w.root.OpenFile(p.name, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, nil, w.fail(p.shown, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = w.regular(p.shown, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, w.fail(p.shown, err)
	}
	return f, info, nil
}

// regular refuses what is not a regular file, with words for what it is.
func (w workspace) regular(shown string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return tool.Errorf(w.op, tool.Invalid, "%q is a directory", shown).WithHint("use %s.list to see what is in it", Namespace)
	default:
		return tool.Errorf(w.op, tool.Invalid, "%q is a %s, not a regular file; it is never opened", shown, kindOf(mode))
	}
}

// kindOf names the type of a file.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "dir"
	case mode&fs.ModeSymlink != 0:
		return "link"
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	default:
		return "special"
	}
}

// openDir opens a directory as a root of its own. The dot at the end makes the
// system insist on a directory, so that a pipe swapped in cannot hold the call.
func openDir(root *os.Root, name string) (*os.Root, error) {
	return root.OpenRoot(name + string(filepath.Separator) + ".")
}

// byPath orders slash paths as a walk meets them: name by name, a directory
// before what is in it.
func byPath(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return cmp.Compare(pathRank(a[i]), pathRank(b[i]))
		}
	}
	return cmp.Compare(len(a), len(b))
}

func pathRank(c byte) int {
	if c == '/' {
		return -1
	}
	return int(c)
}

// count writes a number with its noun.
func count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	case strings.HasSuffix(noun, "ch"):
		return fmt.Sprintf("%d %ses", n, noun)
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}

func (w workspace) notDirectory(p resolvedPath) error {
	return tool.Errorf(w.op, tool.Invalid, "%q is a %s, not a directory", p.shown, kindOf(p.info.Mode())).
		WithHint("use %s.read for a file", Namespace)
}
