package durable

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteIn is Write for the file of a folder that is open: what somebody puts in the place
// of the folder meanwhile is not written to. name has no separators.
func WriteIn(dir *os.Root, name string, data []byte, mode fs.FileMode) error {
	return inFolder(dir, name, data, mode, func(partial string) error { return renameIn(dir, partial, name) })
}

// CreateIn is Create for the file of a folder that is open.
func CreateIn(dir *os.Root, name string, data []byte, mode fs.FileMode) error {
	exists := &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	return inFolder(dir, name, data, mode, func(partial string) error {
		err := dir.Link(partial, name)
		switch {
		case err == nil:
			_ = dir.Remove(partial)
			return nil
		case errors.Is(err, fs.ErrExist):
			return exists
		}
		if _, err := dir.Lstat(name); err == nil {
			return exists
		}
		return renameIn(dir, partial, name) // on a file system without hard links
	})
}

// inFolder writes content that has no name yet into a folder, and has place name it.
func inFolder(dir *os.Root, name string, data []byte, mode fs.FileMode, place func(partial string) error) error {
	if name != filepath.Base(name) {
		return &fs.PathError{Op: "write", Path: name, Err: fs.ErrInvalid}
	}
	partial := partialPrefix(name) + rand.Text() + partialSuffix
	f, err := dir.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = errors.Join(f.Chmod(mode), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = place(partial)
	}
	if err != nil {
		_ = dir.Remove(partial)
		return err
	}
	return syncRoot(dir)
}
