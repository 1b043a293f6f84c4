// Package durable replaces files so that nothing can leave half of one.
//
// # Promise
//
//   - When [Write], [WriteFrom], [WriteIn], [Create], [CreateIn] or [File.Commit] returns nil, the
//     file has its new content and mode, and both, with its name, are on disk.
//     The end of the process or of the machine does not undo that.
//   - Until then a reader finds the old file, whole. After a crash it finds the
//     old file or the new one, whole.
//   - When one of them returns an error, the file is the old one; only if the
//     folder could not be synced may it be the new one already.
//   - Unfinished content lies beside the file, readable by its owner alone,
//     under a name that [IsPartial] knows. A write that fails removes it. A
//     crash leaves it; the next write of the same file removes it once it is an
//     hour old, and [RemovePartials] removes it at any time.
//
// Writers are not kept apart: of two that replace the same file at once, the
// last one wins, whole. A caller that reads a file, changes it and replaces it
// needs a lock of its own. A link in the place of the file is replaced, not
// followed.
package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// staleAfter is the age at which unfinished content belongs to no writer.
const staleAfter = time.Hour

// Write puts data in the place of the file at path, whole or not at all.
func Write(path string, data []byte, mode fs.FileMode) error {
	return WriteFrom(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteFrom is Write for content that fill produces. An error of fill is
// returned as it is, and the file stays as it was.
func WriteFrom(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	f, err := fillNew(path, fill)
	if err != nil {
		return err
	}
	return f.Commit(path, mode)
}

// Create makes the file at path, whole or not at all. A file that is there
// already is fs.ErrExist and stays as it was. On a file system without hard
// links, two processes that create the same file at the same moment may both
// succeed, and the file of one of them stays.
func Create(path string, data []byte, mode fs.FileMode) error {
	f, err := fillNew(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := f.finish(mode); err != nil {
		return err
	}
	err = os.Link(f.name, path)
	switch {
	case err == nil:
		return SyncFolder(filepath.Dir(path))
	case errors.Is(err, fs.ErrExist):
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return f.rename(path)
}

// fillNew writes content that has no name yet beside path.
func fillNew(path string, fill func(io.Writer) error) (*File, error) {
	_ = RemovePartials(path, staleAfter) // whoever cannot remove them can still write
	f, err := New(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return nil, err
	}
	if err := fill(f); err != nil {
		f.Discard()
		return nil, err
	}
	return f, nil
}

// Move gives a file or a folder another name on the same file system, and
// returns when the new name is on disk. A file of that name is replaced.
func Move(from, to string) error {
	if err := rename(from, to); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(to))
}

const partialSuffix = ".partial"

// partialPrefix begins the names of a file's unfinished content. A long name
// is cut, because a file system allows 255 bytes.
func partialPrefix(name string) string {
	const most = 100
	return "." + strings.ToValidUTF8(name[:min(len(name), most)], "") + "."
}

// IsPartial reports whether a file name is one of unfinished content.
func IsPartial(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, partialSuffix) && len(name) > len(partialSuffix)+1
}

// RemovePartials removes the unfinished content of the file at path that was
// last written at least that long ago. With an age of 0 the caller must know
// that nobody writes the file.
func RemovePartials(path string, age time.Duration) error {
	folder, prefix := filepath.Dir(path), partialPrefix(filepath.Base(path))
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !IsPartial(e.Name()) || !strings.HasPrefix(e.Name(), prefix) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < age {
			continue
		}
		if err := os.Remove(filepath.Join(folder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
