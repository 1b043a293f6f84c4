package filesystem

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"callgate/internal/module/filesystem/textfile"
	"callgate/tool"
)

// replace gives a file new content, all of it or none. The law:
//
//  1. The directory is opened once, and everything happens in it by plain
//     names: a temporary file is made that did not exist, never through a link.
//  2. It takes the mode and, where allowed, the owner of the file it replaces;
//     a file that could not be written in place is not replaced either.
//  3. It is filled and synced, then renamed, then the directory is synced.
//  4. With was, the file as it was read, the rename happens only if the file
//     is still that one: an editor outside the kernel takes no locks.
//
// Whatever fails before the rename leaves the old file, and no temporary one.
func (w workspace) replace(at resolvedPath, was fs.FileInfo, fill func(io.Writer) error) error {
	dir, err := openDir(w.root, filepath.Dir(at.name))
	if err != nil {
		return w.fail(at.shown, err)
	}
	defer dir.Close()
	base := filepath.Base(at.name)
	old, err := w.writable(dir, base, at.shown)
	if err != nil {
		return err
	}
	temp := ".callgate-" + rand.Text() + ".tmp"
	if err := writeTemp(dir, temp, old, fill); err != nil {
		_ = dir.Remove(temp)
		return w.fail(at.shown, err)
	}
	if was != nil && !unchanged(dir, base, was) {
		_ = dir.Remove(temp)
		return tool.Errorf(w.op, tool.Conflict, "%q was changed by somebody else in the meantime; it was left as it is", at.shown).
			WithHint("read it again and repeat the change")
	}
	if err := dir.Rename(temp, base); err != nil {
		_ = dir.Remove(temp)
		return w.fail(at.shown, err)
	}
	syncDir(dir)
	return nil
}

// writable looks at the file to replace, nil when there is none.
func (w workspace) writable(dir *os.Root, base, shown string) (fs.FileInfo, error) {
	old, err := dir.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = w.regular(shown, old)
	}
	if err != nil {
		return nil, w.fail(shown, err)
	}
	f, err := dir.OpenFile(base, os.O_WRONLY|withoutWaiting, 0)
	if err != nil {
		if isBusyText(err) {
			return old, nil
		}
		return nil, w.fail(shown, err)
	}
	return old, f.Close()
}

func writeTemp(dir *os.Root, temp string, old fs.FileInfo, fill func(io.Writer) error) error {
	mode := fs.FileMode(0o666) // the system takes away what it does for every new file
	if old != nil {
		mode = 0o600
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = fill(f)
	if err == nil && old != nil {
		keepOwner(f, old)
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// unchanged reports whether a name still holds the file that was read.
func unchanged(dir *os.Root, base string, was fs.FileInfo) bool {
	now, err := dir.Lstat(base)
	return err == nil && os.SameFile(was, now) && now.Size() == was.Size() && now.ModTime().Equal(was.ModTime())
}

// makeParents makes the directories that a new file needs, or says that they
// are missing.
func (w workspace) makeParents(at resolvedPath, make bool) error {
	parent := filepath.Dir(at.name)
	info, err := w.root.Stat(parent)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return tool.Errorf(w.op, tool.Invalid, "%q cannot be made: %q is not a directory", at.shown, filepath.ToSlash(parent))
	case !errors.Is(err, fs.ErrNotExist):
		return w.fail(at.shown, err)
	case !make:
		return tool.Errorf(w.op, tool.NotFound, "the directory %q does not exist", filepath.ToSlash(parent)).
			WithHint("set create_dirs to true, or mend the path")
	}
	if err := w.root.MkdirAll(parent, 0o777); err != nil {
		return w.fail(at.shown, err)
	}
	return nil
}

// readAll reads a whole regular file of at most most bytes.
func (w workspace) readAll(at resolvedPath, most int64) ([]byte, fs.FileInfo, error) {
	f, info, err := w.open(at)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info.Size() > most {
		return nil, nil, tool.Errorf(w.op, tool.Invalid, "%q has %s; the most that can be changed in one piece is %s", at.shown, textfile.Size(info.Size()), textfile.Size(most)).
			WithHint("use a program such as sed through a shell tool")
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, nil, w.fail(at.shown, err)
	}
	return data[:n], info, nil
}
