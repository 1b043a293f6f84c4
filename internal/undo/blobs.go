package undo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"callgate/tool"
)

// blobs keeps contents under their hash, each in a file of its own. A file is written in
// its place, and read only together with its hash: half a file, which a killed process
// leaves, is no content, and is written again when it is wanted.
type blobs struct {
	dir string
	// put holds it shared while it decides that a file is there and marks it as fresh;
	// remove holds it alone.
	mu      sync.RWMutex
	writing keyed // one writer for each hash
}

const refDigits = 2 * sha256.Size

// refOf is the hash of a content.
func refOf(sum []byte) string { return hex.EncodeToString(sum) }

// checkRef reports whether a text has the form of a hash.
func checkRef(ref string) bool {
	return len(ref) == refDigits && strings.Trim(ref, "0123456789abcdef") == ""
}

func (b *blobs) path(ref string) string { return filepath.Join(b.dir, ref[:2], ref) }

// put keeps the content that open yields, which has this hash and size.
func (b *blobs) put(ctx context.Context, ref string, size int64, open func() (io.ReadCloser, error)) error {
	defer b.writing.lock(ref)()
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.has(ref, size) {
		return nil
	}
	path := b.path(ref)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	from, err := open()
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), &contextReader{ctx, from})
	err = errors.Join(err, f.Close())
	if err == nil && (n != size || refOf(sum.Sum(nil)) != ref) {
		err = errChanging
	}
	if err != nil {
		_ = os.Remove(path)
		return err
	}
	return b.use(path)
}

// use marks a content as used now.
func (b *blobs) use(path string) error {
	now := time.Now()
	return os.Chtimes(path, now, now)
}

// errChanging says that a file was written while it was read.
var errChanging = errors.New("it was written while it was read")

// has reports whether a content is there, whole, and marks it as used now.
func (b *blobs) has(ref string, size int64) bool {
	path := b.path(ref)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return false
	}
	if b.use(path) != nil {
		return false
	}
	r, err := b.open(ref)
	if err != nil {
		return false
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err == nil
}

// open returns a reader of a content. It reports damage in place of the end: until then
// nothing that was read is proven.
func (b *blobs) open(ref string) (io.ReadCloser, error) {
	if !checkRef(ref) {
		return nil, tool.Errorf("undo.Open", tool.Invalid, "%q is no hash", tool.Truncate(ref))
	}
	f, err := os.Open(b.path(ref))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tool.Errorf("undo.Open", tool.NotFound, "the content is not kept any more")
	}
	if err != nil {
		return nil, tool.Errorf("undo.Open", tool.Unavailable, "what is kept cannot be read: %w", err)
	}
	return &checkedReader{f, sha256.New(), ref}, nil
}

// checkedReader reads a content and checks its hash at the end.
type checkedReader struct {
	io.ReadCloser
	sum interface {
		io.Writer
		Sum([]byte) []byte
	}
	ref string
}

// Read reports damage where the content ends.
func (r *checkedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	_, _ = r.sum.Write(p[:n])
	if err == io.EOF && refOf(r.sum.Sum(nil)) != r.ref {
		err = tool.Errorf("undo.Open", tool.Unavailable, "what is kept is damaged")
	}
	return n, err
}

// removeUnused removes the contents that are not in use and were last used before a time,
// and returns how many bytes those were.
func (b *blobs) removeUnused(ctx context.Context, inUse map[string]bool, before time.Time) (removed int64, err error) {
	folders, err := os.ReadDir(b.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	for _, folder := range folders {
		files, err := os.ReadDir(filepath.Join(b.dir, folder.Name()))
		if err != nil {
			continue // it is no folder of ours
		}
		for _, f := range files {
			if ctx.Err() != nil {
				return removed, ctx.Err()
			}
			if checkRef(f.Name()) && f.Name()[:2] == folder.Name() && !inUse[f.Name()] {
				removed += b.remove(f.Name(), before)
			}
		}
	}
	return removed, nil
}

func (b *blobs) remove(ref string, before time.Time) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	info, err := os.Lstat(b.path(ref))
	if err != nil || !info.ModTime().Before(before) || os.Remove(b.path(ref)) != nil {
		return 0
	}
	return info.Size()
}

// contextReader is a reader that stops when its context does.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read reads unless the context has ended.
func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// bytesReader is a content in memory.
func bytesReader(data []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

// keyed is a lock for each key.
type keyed struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// lock waits until nobody holds the key, and returns the function that gives it back.
func (k *keyed) lock(key string) (unlock func()) {
	for {
		k.mu.Lock()
		done := k.held[key]
		if done == nil {
			if k.held == nil {
				k.held = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			k.held[key] = mine
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.held, key)
				k.mu.Unlock()
				close(mine)
			}
		}
		k.mu.Unlock()
		<-done
	}
}
