package workfile

import (
	"crypto/rand"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/tool"
)

// Target is where a file is to stand. Its folder is open: everything happens
// in it by plain names.
type Target struct {
	w       Workspace
	dir     *os.Root
	base    string
	shown   string
	replace bool
}

// Target makes ready to leave a file at path: the folder is made, and what
// stands there already is refused unless it may be replaced. The target must
// be closed.
func (w Workspace) Target(path string, replace bool) (*Target, error) {
	name, err := w.local(path)
	if err != nil {
		return nil, err
	}
	t := &Target{w: w, base: filepath.Base(name), shown: filepath.ToSlash(name), replace: replace}
	if name == "." || strings.HasSuffix(filepath.ToSlash(path), "/") {
		return nil, tool.Errorf(w.op, tool.Invalid, "%q names a directory, not a file", tool.Truncate(path)).WithHint("name the file, too")
	}
	if info, err := w.root.Stat(name); err == nil && info.IsDir() {
		return nil, tool.Errorf(w.op, tool.Invalid, "%q is a directory", t.shown).WithHint("name the file in it, too")
	}
	if err := w.root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, w.fail(t.shown, err)
	}
	// The dot makes the system insist on a directory.
	if t.dir, err = w.root.OpenRoot(filepath.Dir(name) + string(filepath.Separator) + "."); err != nil {
		return nil, w.fail(t.shown, err)
	}
	if err := t.free(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Shown is the path as the workspace has it, with slashes.
func (t *Target) Shown() string { return t.shown }

// Close lets go of the folder.
func (t *Target) Close() { _ = t.dir.Close() }

// free reports whether the file may be put in its place.
func (t *Target) free() error {
	info, err := t.dir.Lstat(t.base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return t.w.fail(t.shown, err)
	case !t.replace:
		return tool.Errorf(t.w.op, tool.Conflict, "%q exists already; it was left as it is", t.shown).
			WithHint("choose another path, or set overwrite to true")
	case info.Mode()&fs.ModeSymlink != 0:
		return tool.Errorf(t.w.op, tool.Invalid, "%q is a symbolic link; it is not replaced", t.shown).WithHint("name the file it leads to")
	default:
		return t.w.regular(t.shown, info)
	}
}

// partial is the name under which a draft is kept between calls; mark tells
// what it is a part of.
func (t *Target) partial(mark string) string { return "." + t.base + "." + mark + partialEnd }

const partialEnd = ".part"

// Partials lists the marks of the drafts that were kept for this target.
func (t *Target) Partials() []string {
	f, err := t.dir.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(10_000)
	var marks []string
	for _, name := range names {
		mark, ok := strings.CutPrefix(name, "."+t.base+".")
		if mark, end := strings.CutSuffix(mark, partialEnd); ok && end && mark != "" && !strings.Contains(mark, ".") {
			marks = append(marks, mark)
		}
	}
	slices.Sort(marks)
	return marks
}

// Create begins a file. With a mark it goes on where a draft of that mark was
// kept; without, it is new, and cannot be kept.
func (t *Target) Create(mark string) (*TempFile, error) {
	name, flag := ".callgate-"+rand.Text()+".tmp", os.O_EXCL
	if mark != "" {
		name, flag = t.partial(mark), nonBlocking
	}
	f, err := t.dir.OpenFile(name, os.O_RDWR|os.O_CREATE|flag, 0o666)
	if err != nil {
		return nil, t.w.fail(t.shown, err)
	}
	info, err := f.Stat()
	if there, at := t.dir.Lstat(name); err == nil && (at != nil || !info.Mode().IsRegular() || !os.SameFile(there, info)) {
		err = tool.Errorf(t.w.op, tool.Invalid, "%q, where the parts of a file are kept, is not a regular file", name).WithHint("remove it")
	}
	d := &TempFile{target: t, file: f, name: name, marked: mark != ""}
	if err == nil {
		d.size, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil {
		_ = f.Close()
		return nil, t.w.fail(t.shown, err)
	}
	return d, nil
}

// TempFile is a file that is not whole yet. It ends by Commit, Keep or Discard.
type TempFile struct {
	target *Target
	file   *os.File
	name   string
	marked bool
	size   int64
}

// Size is how much of the file is there.
func (d *TempFile) Size() int64 { return d.size }

// Write adds to the file.
func (d *TempFile) Write(p []byte) (int, error) {
	n, err := d.file.Write(p)
	d.size += int64(n)
	if err != nil {
		err = d.target.w.fail(d.target.shown, err)
	}
	return n, err
}

// Sum runs what is there through a hash.
func (d *TempFile) Sum(h hash.Hash) ([]byte, error) {
	if _, err := io.Copy(h, io.NewSectionReader(d.file, 0, d.size)); err != nil {
		return nil, d.target.w.fail(d.target.shown, err)
	}
	return h.Sum(nil), nil
}

// Restart empties the file.
func (d *TempFile) Restart() error {
	_, err := d.file.Seek(0, io.SeekStart)
	if err == nil {
		err = d.file.Truncate(0)
	}
	if d.size = 0; err != nil {
		return d.target.w.fail(d.target.shown, err)
	}
	return nil
}

// Commit puts the file in its place, whole and durable. Drafts that were kept
// of other versions go.
func (d *TempFile) Commit() error {
	t := d.target
	err := errors.Join(d.file.Sync(), d.file.Close())
	if err == nil {
		err = t.free() // somebody outside the kernel takes no locks
	}
	if err == nil {
		err = t.dir.Rename(d.name, t.base)
	}
	if err != nil {
		_ = t.dir.Remove(d.name)
		return t.w.fail(t.shown, err)
	}
	for _, mark := range t.Partials() {
		_ = t.dir.Remove(t.partial(mark))
	}
	syncDir(t.dir)
	return nil
}

// KeepPartial leaves what is there for a later call, if the draft is marked and not
// empty, and reports whether it did.
func (d *TempFile) KeepPartial() bool {
	if !d.marked || d.size == 0 || d.file.Sync() != nil {
		d.Discard()
		return false
	}
	return d.file.Close() == nil
}

// Discard removes the draft.
func (d *TempFile) Discard() {
	_ = d.file.Close()
	_ = d.target.dir.Remove(d.name)
}
