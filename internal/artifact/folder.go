package artifact

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"callgate/internal/durable"
	"callgate/tool"
)

// partial is the folder of files that are being written.
const partial = "partial"

// staleAfter is the age at which a file in the partial folder is one that a
// crash left.
const staleAfter = time.Hour

// Folder keeps blobs as files, each in a folder named after the first two
// digits of its hash. One process at a time uses it.
type Folder struct {
	dir string
	// Put holds it shared while it decides that a file is there and marks it as
	// fresh; Delete holds it alone while it removes one.
	mu    sync.RWMutex
	ready sync.Mutex
	made  bool // the folders are there
}

var _ Blobs = (*Folder)(nil)

// NewFolder keeps blobs in a folder, which is made with the first of them.
func NewFolder(dir string) *Folder { return &Folder{dir: dir} }

// prepare makes the folders, and removes what a crash left of a blob.
func (f *Folder) prepare() error {
	f.ready.Lock()
	defer f.ready.Unlock()
	if f.made {
		return nil
	}
	folder := filepath.Join(f.dir, partial)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f.made = true
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleAfter {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
	return nil
}

// path is where a blob lies.
func (f *Folder) path(ref string) string {
	digits := strings.TrimPrefix(ref, scheme)
	return filepath.Join(f.dir, digits[:2], digits)
}

// Put writes a file, unless it is there.
func (f *Folder) Put(ctx context.Context, ref string, size int64, content io.Reader) error {
	const op = "artifact.Put"
	if err := Check(ref); err != nil {
		return err
	}
	if f.touch(ref, size) {
		return nil
	}
	if err := f.prepare(); err != nil {
		return writeError(op, err)
	}
	file, err := durable.New(filepath.Join(f.dir, partial), "put")
	if err != nil {
		return writeError(op, err)
	}
	defer file.Discard()
	source := &ctxReader{ctx: ctx, r: content}
	n, err := io.Copy(file, source)
	switch {
	case source.err != nil:
		return sourceError(op, source.err)
	case err != nil:
		return writeError(op, err)
	case n != size:
		return tool.Errorf(op, tool.Invalid, "%d bytes came to be stored, and %d were announced", n, size)
	}
	if err := f.publish(file, ref); err != nil {
		return writeError(op, err)
	}
	return nil
}

// touch reports whether a blob is there, and marks it as stored now. A file of
// another size is damaged, and is replaced.
func (f *Folder) touch(ref string, size int64) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	path := f.path(ref)
	info, err := os.Stat(path)
	if err != nil || info.Size() != size || !info.Mode().IsRegular() {
		return false
	}
	return os.Chtimes(path, time.Time{}, time.Now()) == nil
}

// SetStored notes when blobs were last stored, for one that copies them from elsewhere. Those that are not there are
// passed over.
func (f *Folder) SetStored(blobs []Blob) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, b := range blobs {
		if err := Check(b.Ref); err != nil {
			return err
		}
		if err := os.Chtimes(f.path(b.Ref), time.Time{}, b.Stored); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return writeError("artifact.SetStored", err)
		}
	}
	return nil
}

// publish gives a written file its name.
func (f *Folder) publish(file *durable.File, ref string) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	path := f.path(ref)
	switch err := os.Mkdir(filepath.Dir(path), 0o700); {
	case err == nil:
		if err := durable.SyncFolder(f.dir); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	return file.Commit(path, 0o600)
}

// Open opens a file.
func (f *Folder) Open(_ context.Context, ref string) (io.ReadCloser, error) {
	const op = "artifact.Open"
	if err := Check(ref); err != nil {
		return nil, err
	}
	file, err := os.Open(f.path(ref))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, tool.Errorf(op, tool.NotFound, "there is no artifact %s", ref).
			WithHint("it may have been deleted as unused; run the call again")
	case err != nil:
		return nil, &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the artifact cannot be read", Err: err}
	}
	return file, nil
}

// List reads the folders, and passes over what Put did not write.
func (f *Folder) List(ctx context.Context, after string, limit int) ([]Blob, error) {
	const op = "artifact.List"
	folders, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, listError(op, err)
	}
	var list []Blob
	for _, folder := range folders { // in the order of their names
		name := folder.Name()
		if !folder.IsDir() || len(name) != 2 || after != "" && scheme+name < after[:min(len(after), len(scheme)+2)] {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(f.dir, name))
		if err != nil {
			return nil, listError(op, err)
		}
		for _, entry := range entries {
			if err := ctx.Err(); err != nil {
				return nil, &tool.Error{Op: op, Kind: kindOf(err), Message: "not every artifact was listed", Err: err}
			}
			if b, ok := blobOf(name, entry); ok && b.Ref > after {
				list = append(list, b)
			}
			if len(list) == limit {
				return list, nil
			}
		}
	}
	return list, nil
}

// blobOf reports whether an entry of a folder is a blob that is still there.
func blobOf(folder string, entry fs.DirEntry) (Blob, bool) {
	ref := scheme + entry.Name()
	if Check(ref) != nil || entry.Name()[:2] != folder {
		return Blob{}, false
	}
	info, err := entry.Info()
	if err != nil || !info.Mode().IsRegular() {
		return Blob{}, false
	}
	return Blob{ref, info.Size(), info.ModTime()}, true
}

// Delete removes a file unless it was stored again meanwhile.
func (f *Folder) Delete(_ context.Context, ref string, storedBefore time.Time) (bool, error) {
	const op = "artifact.Delete"
	if err := Check(ref); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path(ref))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.ModTime().Before(storedBefore) {
		return false, nil
	}
	if err == nil {
		err = os.Remove(f.path(ref))
	}
	if err != nil {
		return false, &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the artifact cannot be removed", Err: err}
	}
	return true, nil
}

func listError(op string, err error) error {
	return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the folder of artifacts cannot be read", Err: err}
}
