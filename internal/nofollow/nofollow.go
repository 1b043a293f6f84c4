// Package nofollow opens files and folders below a root without following links.
//
// Law: what is opened is what lies at the path itself. A path is walked folder by folder,
// and each one that was opened is compared with what lies under its name, so a link that
// somebody puts in the place of a file or folder meanwhile is refused and never written
// or read through. os.Root keeps a path inside the root and follows links there: that is
// not enough for whoever judged the path before, because a link leads from a path that is
// allowed to one that is not. A file that is appended to has one name: a second one could
// be that of a file which nobody may write.
package nofollow

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// The reasons why something is not opened.
var (
	ErrLink       = errors.New("it is a link, or lies behind one")
	ErrNames      = errors.New("it has more than one name (hard links)")
	ErrNotRegular = errors.New("it is not a regular file")
	ErrChanged    = errors.New("it was replaced while it was opened")
)

// attempts is how often something is looked at again that was replaced meanwhile.
const attempts = 5

// OpenDir opens a folder, named with slashes, as a root of its own. The caller closes it.
func OpenDir(root *os.Root, name string) (*os.Root, error) { return walk(root, name, false) }

// MakeDir opens a folder, and makes it and those above it where they are missing.
func MakeDir(root *os.Root, name string) (*os.Root, error) { return walk(root, name, true) }

func walk(root *os.Root, name string, create bool) (*os.Root, error) {
	name = path.Clean(filepath.ToSlash(name))
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it lies outside")}
	}
	dir, err := root.OpenRoot(".")
	if err != nil || name == "." {
		return dir, err
	}
	for part := range strings.SplitSeq(name, "/") {
		next, err := step(dir, part, create)
		_ = dir.Close()
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		dir = next
	}
	return dir, nil
}

// step opens a folder in another one.
func step(dir *os.Root, name string, create bool) (*os.Root, error) {
	for range attempts {
		found, err := dir.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && create:
			if err := dir.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, err
			}
			continue
		case err != nil:
			return nil, err
		case found.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
			return nil, ErrLink
		case !found.IsDir():
			return nil, syscall.ENOTDIR
		}
		// The dot makes the system insist on a folder: a pipe would hold the caller.
		next, err := dir.OpenRoot(name + string(filepath.Separator) + ".")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if opened, err := next.Stat("."); err == nil && os.SameFile(found, opened) {
			return next, nil
		}
		_ = next.Close()
	}
	return nil, ErrChanged
}

// Append opens the file of a folder to be read and appended to, and makes it where there
// is none.
func Append(dir *os.Root, name string) (*os.File, error) {
	for range attempts {
		found, err := dir.Lstat(name)
		var f *os.File
		switch {
		case errors.Is(err, fs.ErrNotExist): // an exclusive open follows no link
			f, err = dir.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			return f, nil
		case err != nil:
			return nil, err
		}
		f, err = open(dir, name, found, os.O_RDWR|os.O_APPEND)
		if errors.Is(err, ErrChanged) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if info, err := f.Stat(); err != nil || links(info) > 1 {
			return nil, errors.Join(err, ErrNames, f.Close())
		}
		return f, nil
	}
	return nil, ErrChanged
}

// Open opens the file of a folder for reading, if it is the one that was found there.
func Open(dir *os.Root, name string, found fs.FileInfo) (*os.File, error) {
	return open(dir, name, found, os.O_RDONLY)
}

// open opens a file that was found, and no other one.
func open(dir *os.Root, name string, found fs.FileInfo, flag int) (*os.File, error) {
	switch mode := found.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return nil, ErrLink
	case !mode.IsRegular():
		return nil, ErrNotRegular
	}
	f, err := dir.OpenFile(name, flag|syscall.O_NONBLOCK, 0) // a pipe would hold the caller
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || !os.SameFile(found, info) {
		return nil, errors.Join(err, ErrChanged, f.Close())
	}
	return f, nil
}
