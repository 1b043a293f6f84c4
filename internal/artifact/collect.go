package artifact

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"callgate/tool"
)

// Usage is how many artifacts there are, and how large.
type Usage struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

func (u *Usage) add(size int64) {
	u.Count++
	u.Bytes += size
}

// Usage counts what is stored.
func (s *Store) Usage(ctx context.Context) (Usage, error) {
	var all Usage
	err := s.walk(ctx, func(f file) error {
		if f.ref != "" {
			all.add(f.info.Size())
		}
		return nil
	})
	return all, err
}

// DeleteUnused removes the artifacts that were stored before olderThan and are not
// live, with what was left half-written before then, and tells how much that
// was. The live ones must be asked for after olderThan: what is named later
// must have been stored later too, and is too young to go.
func (s *Store) DeleteUnused(ctx context.Context, live func(ref string) bool, olderThan time.Time) (removed Usage, err error) {
	err = s.walk(ctx, func(f file) error {
		if !f.info.ModTime().Before(olderThan) || f.ref != "" && live(f.ref) {
			return nil
		}
		if _, busy := s.writing.Load(f.path); busy {
			return nil
		}
		gone, err := s.remove(f.path, olderThan)
		if gone {
			removed.add(f.info.Size())
		}
		return err
	})
	return removed, err
}

// remove removes a file unless it was stored again meanwhile.
func (s *Store) remove(path string, olderThan time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.ModTime().Before(olderThan) {
		return false, nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return false, writeError("artifact.Collect", err)
	}
	return true, nil
}

// file is one file of the store. A partial one has no ref.
type file struct {
	ref  string
	path string
	info fs.FileInfo
}

// walk visits the store's files, and passes over what is not its own.
func (s *Store) walk(ctx context.Context, visit func(file) error) error {
	folders, err := os.ReadDir(s.dir)
	if err != nil {
		return readError(err)
	}
	for _, folder := range folders {
		name := folder.Name()
		if !folder.IsDir() || len(name) != 2 && name != partial {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(s.dir, name))
		if err != nil {
			return readError(err)
		}
		for _, entry := range entries {
			if err := ctx.Err(); err != nil {
				return &tool.Error{Op: "artifact.Collect", Kind: kindOf(err), Message: "not every artifact was looked at", Err: err}
			}
			f, ok := s.isArtifact(name, entry)
			if !ok {
				continue
			}
			if err := visit(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// isArtifact reports whether an entry is a file of the store, still there.
func (s *Store) isArtifact(folder string, entry fs.DirEntry) (file, bool) {
	f := file{path: filepath.Join(s.dir, folder, entry.Name())}
	if folder != partial {
		f.ref = scheme + entry.Name()
		if Check(f.ref) != nil || entry.Name()[:2] != folder {
			return file{}, false
		}
	}
	info, err := entry.Info()
	f.info = info
	return f, err == nil && info.Mode().IsRegular()
}

func readError(err error) error {
	return &tool.Error{Op: "artifact.Collect", Kind: tool.Unavailable, Message: "the folder of artifacts cannot be read", Err: err}
}
