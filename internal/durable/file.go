package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// File is content that has no name yet. One goroutine uses it, and ends it with
// Commit or Discard.
type File struct {
	file *os.File // nil once it is closed
	name string   // "" once it has been renamed or removed
}

// New begins a file of that name in a folder. The folder must lie on the file
// system to which the file will be committed.
func New(folder, name string) (*File, error) {
	f, err := os.CreateTemp(folder, partialPrefix(name)+"*"+partialSuffix) // mode 0600
	if err != nil {
		return nil, err
	}
	return &File{f, f.Name()}, nil
}

// Name returns the path of the unfinished content.
func (f *File) Name() string { return f.name }

// Write appends to the content.
func (f *File) Write(p []byte) (int, error) { return f.file.Write(p) }

// Commit gives the content its mode and its name, and returns when all of it
// is on disk. When it fails the content is discarded.
func (f *File) Commit(path string, mode fs.FileMode) error {
	defer f.Discard()
	if err := f.finish(mode); err != nil {
		return err
	}
	return f.rename(path)
}

// finish brings the content to the disk and closes it.
func (f *File) finish(mode fs.FileMode) error {
	err := errors.Join(f.file.Chmod(mode), f.file.Sync(), f.file.Close())
	f.file = nil
	return err
}

func (f *File) rename(path string) error {
	if err := rename(f.name, path); err != nil {
		return err
	}
	f.name = ""
	return SyncFolder(filepath.Dir(path))
}

// Discard removes content that was not committed. After Commit it does nothing.
func (f *File) Discard() {
	if f.file != nil {
		_ = f.file.Close()
		f.file = nil
	}
	if f.name != "" {
		_ = os.Remove(f.name)
		f.name = ""
	}
}
