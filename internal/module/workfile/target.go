package workfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/tool"
)

// Target is the place of a file that is to be written. Its directory is open, and
// files in it are named by their names alone.
type Target struct {
	w         Workspace
	dir       *os.Root
	folder    string // where dir is
	base      string
	shown     string
	overwrite bool
}

// Target prepares to write a file at path: it makes the directory, and refuses a
// file that exists unless overwrite is set. The caller closes the target.
func (w Workspace) Target(path string, overwrite bool) (*Target, error) {
	name, err := w.relative(path)
	if err != nil {
		return nil, err
	}
	t := &Target{
		w: w, folder: filepath.Join(w.Dir, filepath.Dir(name)), base: filepath.Base(name),
		shown: filepath.ToSlash(name), overwrite: overwrite,
	}
	if w.Grant.Forbids(name) {
		return nil, w.ClosedError(t.shown)
	}
	if name == "." || strings.HasSuffix(filepath.ToSlash(path), "/") {
		return nil, tool.Errorf(w.Op, tool.Invalid, "%q names a directory, not a file", tool.Truncate(path)).
			WithHint("name the file, too")
	}
	if info, err := w.Root.Stat(name); err == nil && info.IsDir() {
		return nil, tool.Errorf(w.Op, tool.Invalid, "%q is a directory", t.shown).WithHint("name the file in it, too")
	}
	if err := w.Root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, w.Fail(t.shown, err)
	}
	if t.dir, err = OpenDir(w.Root, filepath.Dir(name)); err != nil {
		return nil, w.Fail(t.shown, err)
	}
	if err := t.checkFree(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Shown is the path relative to the workspace, with slashes.
func (t *Target) Shown() string { return t.shown }

// Close closes the directory.
func (t *Target) Close() { _ = t.dir.Close() }

// checkFree returns an error unless the file may be put in its place.
func (t *Target) checkFree() error {
	info, err := t.dir.Lstat(t.base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return t.w.Fail(t.shown, err)
	case !t.overwrite:
		return tool.Errorf(t.w.Op, tool.Conflict, "%q exists already; it was left as it is", t.shown).
			WithHint("choose another path, or set overwrite to true")
	case info.Mode()&fs.ModeSymlink != 0:
		return tool.Errorf(t.w.Op, tool.Invalid, "%q is a symbolic link; it is not replaced", t.shown).
			WithHint("name the file it leads to")
	default:
		return t.w.CheckRegular(t.shown, info)
	}
}

// partialName is the name of a partial file that is kept between calls. The mark
// says what it is a part of.
func (t *Target) partialName(mark string) string { return "." + t.base + "." + mark + partialSuffix }

const partialSuffix = ".part"

// Partials lists the marks of the partial files that were kept for this target.
func (t *Target) Partials() []string {
	const maxNames = 10_000
	f, err := t.dir.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxNames)
	var marks []string
	for _, name := range names {
		mark, ok := strings.CutPrefix(name, "."+t.base+".")
		if mark, end := strings.CutSuffix(mark, partialSuffix); ok && end && mark != "" && !strings.Contains(mark, ".") {
			marks = append(marks, mark)
		}
	}
	slices.Sort(marks)
	return marks
}

// Create begins a file. With a mark it continues the partial file of that mark,
// if one was kept; without a mark the file is new, and cannot be kept.
func (t *Target) Create(mark string) (*TempFile, error) {
	if mark == "" {
		return t.createTemp(nil, nil)
	}
	name := t.partialName(mark)
	f, err := t.dir.OpenFile(name, os.O_RDWR|os.O_CREATE|nonBlocking, 0o666)
	if err != nil {
		return nil, t.w.Fail(t.shown, err)
	}
	temp := &TempFile{target: t, file: f, name: name, marked: true}
	if err = t.checkPartial(f, name); err == nil {
		temp.size, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil {
		_ = f.Close()
		return nil, t.w.Fail(t.shown, err)
	}
	return temp, nil
}

// checkPartial returns an error unless an open file is the regular file of that
// name: it may have been opened through a link.
func (t *Target) checkPartial(f *os.File, name string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	found, err := t.dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || !os.SameFile(found, info) {
		return tool.Errorf(t.w.Op, tool.Invalid, "%q, where a part of the file is kept, is not a regular file", name).
			WithHint("remove it")
	}
	return nil
}
