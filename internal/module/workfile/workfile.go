// Package workfile reads and writes files of the workspace, for the modules whose
// tools do. No other code of a module writes there.
//
// # Confinement
//
// Everything goes through the root of the call's grant. A path is relative to
// the workspace, or absolute inside it; a path that leads elsewhere (.., an
// absolute path, a symbolic link, at any depth and at any time) is refused as
// Denied. Names are first followed here, so that the refusal can say why, and so
// that links that are absolute but stay inside work; the root then checks every
// step again, so a link that is swapped in between changes nothing. Dots in a
// path are removed as text ("a/../b" is "b"), as the kernel does before it locks.
//
// Only regular files are opened, without waiting, and checked again after they
// are open: a pipe, a socket or a device can neither hang a call nor be disturbed
// by one.
//
// A hard link cannot be told from a file of the workspace, so one that was made
// to a file outside can be read. It is never written through: files are replaced
// by rename, which separates the link.
//
// # Atomicity and durability
//
// A file is written beside its place, synced, and renamed over it; then the
// directory is synced. A reader sees the old content or the new, never half; a
// crash leaves the old. This is why writes claim U and let readers pass. The new
// file keeps the mode and, where the system allows it, the owner; access lists
// and extended attributes are not carried over. [TempFile] is the only code that
// does this.
//
// # Right
//
// What puts a file in its place, renames it or removes it asks [tool.Grant.MayChange] just
// before, so that a machine that was taken for dead changes nothing that is another's by
// now. Folders and temporary files are made without.
package workfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"callgate/tool"
)

// Workspace is the workspace of one call. New makes one.
type Workspace struct {
	Op    string // the operation that errors name
	Root  *os.Root
	Dir   string     // its canonical absolute path
	Grant tool.Grant // for the kernel's own files
}

// New returns the workspace that a call was granted. Errors name op.
func New(op string, g tool.Grant) (Workspace, error) {
	if g.Root == nil {
		return Workspace{}, tool.Errorf(op, tool.Denied, "this session has no workspace, so there are no files to reach").
			WithHint("start the session in a folder")
	}
	return Workspace{op, g.Root, g.Workspace, g}, nil
}

// Unlink removes a name, of a file or of an empty folder.
func (w Workspace) Unlink(name string) error {
	if err := w.mayChange(); err != nil {
		return err
	}
	return w.Root.Remove(name)
}

// UnlinkAll removes a name with all that is under it.
func (w Workspace) UnlinkAll(name string) error {
	if err := w.mayChange(); err != nil {
		return err
	}
	return w.Root.RemoveAll(name)
}

// Rename gives a file or a folder another name.
func (w Workspace) Rename(from, to string) error {
	if err := w.mayChange(); err != nil {
		return err
	}
	return w.Root.Rename(from, to)
}

// mayChange is asked right before a file is changed: see [tool.Grant]. It takes time to write one, and another machine
// may have come to work here meanwhile.
func (w Workspace) mayChange() error {
	if w.Grant.MayChange == nil {
		return nil
	}
	err := w.Grant.MayChange()
	if err == nil {
		return nil
	}
	refused := tool.Errorf(w.Op, tool.KindOf(err), "the file is left as it is: %w", err)
	if why := new(tool.Error); errors.As(err, &why) {
		refused.Hint = why.Hint
	}
	return refused
}

// Open opens a regular file for reading. shown is its path relative to the
// workspace, with slashes.
func (w Workspace) Open(path string) (f *os.File, shown string, err error) {
	p, err := w.Existing(path, true)
	if err != nil {
		return nil, "", err
	}
	f, _, err = w.OpenPath(p)
	return f, p.Shown, err
}

// OpenPath opens a regular file for reading, and nothing else: the type is
// checked before the file is opened, and again after, in case it was swapped.
func (w Workspace) OpenPath(p Path) (*os.File, fs.FileInfo, error) {
	if err := w.CheckRegular(p.Shown, p.Info); err != nil {
		return nil, nil, err
	}
	f, info, err := OpenRegular(w.Root, p.Name)
	if err == nil {
		return f, info, nil
	}
	if info != nil {
		err = w.CheckRegular(p.Shown, info)
	}
	return nil, nil, w.Fail(p.Shown, err)
}

// OpenRegular opens a file for reading, and closes it again with an error unless
// it is a regular file. It does not wait for the other end of a pipe.
func OpenRegular(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		return f, info, nil
	}
	_ = f.Close()
	if err == nil {
		err = fs.ErrInvalid
	}
	return nil, info, err
}

// OpenDir opens a directory as a root of its own. The dot at the end makes the
// system insist on a directory, so a pipe that is swapped in cannot hold the call.
func OpenDir(root *os.Root, name string) (*os.Root, error) {
	return root.OpenRoot(name + string(filepath.Separator) + ".")
}

// CheckRegular returns an error unless the file is a regular one.
func (w Workspace) CheckRegular(shown string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return tool.Errorf(w.Op, tool.Invalid, "%q is a directory", shown).
			WithHint("name a file in it; filesystem.list shows what is there")
	default:
		return tool.Errorf(w.Op, tool.Invalid, "%q is a %s, not a regular file; it is never opened", shown, KindOf(mode))
	}
}

// KindOf names the type of a file.
func KindOf(mode fs.FileMode) string {
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
