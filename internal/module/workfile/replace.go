package workfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"callgate/tool"
)

// Replace gives a file new content, all of it or nothing. The law:
//
//  1. The directory is opened once, and everything happens in it by plain names:
//     the temporary file is new, and never opened through a link.
//  2. It takes the mode and, where allowed, the owner of the file it replaces. A
//     file that could not be written in place is not replaced either.
//  3. It is written and synced, then renamed, then the directory is synced.
//  4. With was, the file as it was read, the rename happens only if the file is
//     still that one: an editor outside the kernel takes no locks.
//
// A failure before the rename leaves the old file, and no temporary one.
func (w Workspace) Replace(p Path, was fs.FileInfo, write func(io.Writer) error) error {
	return w.replace(p, was, nil, write)
}

// ReplaceMode is Replace for a file that has a mode of its own, and not that of the file
// it replaces.
func (w Workspace) ReplaceMode(p Path, was fs.FileInfo, mode fs.FileMode, write func(io.Writer) error) error {
	return w.replace(p, was, &mode, write)
}

// Create makes a file where there is none, with the directories above it, all of it or
// nothing. A file that is there by then is left as it is.
func (w Workspace) Create(p Path, write func(io.Writer) error) error {
	t, err := w.Target(p.Name, false)
	if err != nil {
		return err
	}
	defer t.Close()
	temp, err := t.Create("")
	if err != nil {
		return err
	}
	if err := write(temp); err != nil {
		temp.Discard()
		return w.Fail(p.Shown, err)
	}
	return temp.Commit()
}

func (w Workspace) replace(p Path, was fs.FileInfo, mode *fs.FileMode, write func(io.Writer) error) error {
	dir, err := OpenDir(w.Root, filepath.Dir(p.Name))
	if err != nil {
		return w.Fail(p.Shown, err)
	}
	defer dir.Close()
	t := &Target{
		w: w, dir: dir, folder: filepath.Join(w.Dir, filepath.Dir(p.Name)), base: filepath.Base(p.Name), shown: p.Shown,
	}
	old, err := t.replaceable()
	if err != nil {
		return err
	}
	temp, err := t.createTemp(old, mode)
	if err != nil {
		return err
	}
	if err := write(temp); err != nil {
		temp.Discard()
		return w.Fail(p.Shown, err)
	}
	return temp.commit(func() error { return t.checkUnchanged(was) })
}

// Remove takes a file away if it is still the one that was read: an editor outside the kernel
// takes no locks.
func (w Workspace) Remove(p Path, was fs.FileInfo) error {
	dir, err := OpenDir(w.Root, filepath.Dir(p.Name))
	if err != nil {
		return w.Fail(p.Shown, err)
	}
	defer dir.Close()
	t := &Target{w: w, dir: dir, base: filepath.Base(p.Name), shown: p.Shown}
	if err := t.checkUnchanged(was); err != nil {
		return err
	}
	if err := w.mayChange(); err != nil {
		return err
	}
	if err := dir.Remove(t.base); err != nil {
		return w.Fail(p.Shown, err)
	}
	return nil
}

// replaceable returns the file at the target, nil if there is none, and an error
// if it could not be written in place.
func (t *Target) replaceable() (fs.FileInfo, error) {
	old, err := t.dir.Lstat(t.base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = t.w.CheckRegular(t.shown, old)
	}
	if err != nil {
		return nil, t.w.Fail(t.shown, err)
	}
	f, err := t.dir.OpenFile(t.base, os.O_WRONLY|nonBlocking, 0)
	if err != nil {
		if isBusyText(err) {
			return old, nil
		}
		return nil, t.w.Fail(t.shown, err)
	}
	return old, f.Close()
}

// checkUnchanged returns an error unless the target is still the file that was
// read; nil stands for any file.
func (t *Target) checkUnchanged(was fs.FileInfo) error {
	if was == nil {
		return nil
	}
	now, err := t.dir.Lstat(t.base)
	if err == nil && os.SameFile(was, now) && now.Size() == was.Size() && now.ModTime().Equal(was.ModTime()) {
		return nil
	}
	return tool.Errorf(t.w.Op, tool.Conflict,
		"%q was changed by somebody else in the meantime; it was left as it is", t.shown).
		WithHint("read it again and repeat the change")
}

// MakeParents makes the directories of a new file, or without create returns an
// error if they are missing.
func (w Workspace) MakeParents(p Path, create bool) error {
	parent := filepath.Dir(p.Name)
	shown := filepath.ToSlash(parent)
	info, err := w.Root.Stat(parent)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return tool.Errorf(w.Op, tool.Invalid, "%q cannot be made: %q is not a directory", p.Shown, shown)
	case !errors.Is(err, fs.ErrNotExist):
		return w.Fail(p.Shown, err)
	case !create:
		return tool.Errorf(w.Op, tool.NotFound, "the directory %q does not exist", shown).
			WithHint("set create_dirs to true, or correct the path")
	}
	if err := w.Root.MkdirAll(parent, 0o777); err != nil {
		return w.Fail(p.Shown, err)
	}
	return nil
}

// ReadAll reads a whole regular file of at most maxSize bytes.
func (w Workspace) ReadAll(p Path, maxSize int64) ([]byte, fs.FileInfo, error) {
	f, info, err := w.OpenPath(p)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info.Size() > maxSize {
		return nil, nil, &TooLargeError{Size: info.Size(), Max: maxSize}
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, nil, w.Fail(p.Shown, err)
	}
	return data[:n], info, nil
}

// TooLargeError says that a file is larger than the caller reads at once.
type TooLargeError struct{ Size, Max int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the file has %d bytes, and at most %d are read", e.Size, e.Max)
}
