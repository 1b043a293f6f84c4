// Package artifact keeps what is too large for the journal: arguments and
// results, on disk, each under the hash of its content.
//
// A ref is "sha256:" and 64 hex digits, and the bytes behind it are those or
// none: reading checks them. Storing is idempotent. A file appears whole or
// not at all, and is on disk before its ref is returned, so a ref may be
// written to the journal at once.
//
// # Collecting
//
// An artifact that no record names any more may be collected. Storing comes
// before naming, so whatever was stored lately is kept whether it is named or
// not: whoever stores an artifact, even one that was already there, has the
// whole grace period to name it.
package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"callgate/tool"
)

const (
	scheme  = "sha256:"
	partial = "partial" // the folder of files still being written
)

// Store is a folder of artifacts. One process uses a folder at a time; within
// it a Store is safe for concurrent use.
type Store struct {
	dir string
	// Storing holds it shared while it decides that a file is there and marks
	// it as fresh; collecting holds it alone while it removes one.
	mu      sync.RWMutex
	writing sync.Map // the paths of partial files that are being written now
}

// Open makes the folder when it is absent.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(filepath.Join(dir, partial), 0o700); err != nil {
		return nil, writeError("artifact.Open", err)
	}
	return &Store{dir: dir}, nil
}

// Put stores data and returns its ref.
func (s *Store) Put(ctx context.Context, data []byte) (string, error) {
	sum := sha256.Sum256(data)
	ref := scheme + hex.EncodeToString(sum[:])
	if s.touch(ref, int64(len(data))) {
		return ref, nil
	}
	return s.PutFrom(ctx, bytes.NewReader(data))
}

// PutFrom stores what r yields and returns its ref.
func (s *Store) PutFrom(ctx context.Context, r io.Reader) (ref string, err error) {
	const op = "artifact.Put"
	f, err := os.CreateTemp(filepath.Join(s.dir, partial), "put-*") // 0600
	if err != nil {
		return "", writeError(op, err)
	}
	s.writing.Store(f.Name(), true)
	defer s.writing.Delete(f.Name())
	defer os.Remove(f.Name()) // gone already when all went well
	sum := sha256.New()
	source := &ctxReader{ctx: ctx, r: r}
	size, err := io.Copy(io.MultiWriter(f, sum), source)
	if source.err != nil {
		f.Close()
		return "", &tool.Error{Op: op, Kind: kindOf(source.err), Message: "what should be stored cannot be read", Err: source.err}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", writeError(op, err)
	}
	ref = scheme + hex.EncodeToString(sum.Sum(nil))
	if s.touch(ref, size) {
		return ref, nil
	}
	if err := s.publish(f.Name(), ref); err != nil {
		return "", writeError(op, err)
	}
	return ref, nil
}

// touch reports whether the artifact is there, and starts its grace period
// again. A file of another size is damaged, and as good as absent.
func (s *Store) touch(ref string, size int64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	path := s.path(ref)
	info, err := os.Stat(path)
	if err != nil || info.Size() != size || !info.Mode().IsRegular() {
		return false
	}
	return os.Chtimes(path, time.Time{}, time.Now()) == nil
}

// publish gives a written file its name, and makes the name last.
func (s *Store) publish(from, ref string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	path := s.path(ref)
	folder := filepath.Dir(path)
	if err := os.Mkdir(folder, 0o700); err == nil {
		syncFolder(s.dir)
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Rename(from, path); err != nil {
		return err
	}
	syncFolder(folder)
	return nil
}

// syncFolder makes the names in a folder last, where a system needs asking.
func syncFolder(path string) {
	if d, err := os.Open(path); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// Get returns the bytes behind a ref, once they are known to be those.
func (s *Store) Get(ctx context.Context, ref string) ([]byte, error) {
	r, err := s.Open(ref)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(&ctxReader{ctx: ctx, r: r})
}

// Open returns a reader of the bytes behind a ref. It reports damage in place
// of the end of the file: until then, nothing that was read is proven.
func (s *Store) Open(ref string) (io.ReadCloser, error) {
	const op = "artifact.Open"
	if err := Check(ref); err != nil {
		return nil, err
	}
	f, err := os.Open(s.path(ref))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tool.Errorf(op, tool.NotFound, "there is no artifact %s", ref).WithHint("it may have been collected; run the call again")
	}
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the artifact cannot be read", Err: err}
	}
	return &verifyingReader{File: f, sum: sha256.New(), ref: ref}, nil
}

// Check reports whether ref has the form of one.
func Check(ref string) error {
	digits, ok := strings.CutPrefix(ref, scheme)
	if ok && len(digits) == 2*sha256.Size && strings.Trim(digits, "0123456789abcdef") == "" {
		return nil
	}
	return tool.Errorf("artifact.Check", tool.Invalid, "%.80q is not an artifact's ref; one is sha256: and 64 hex digits in lower case", ref)
}

// path is where the artifact lies; ref has been checked.
func (s *Store) path(ref string) string {
	digits := strings.TrimPrefix(ref, scheme)
	return filepath.Join(s.dir, digits[:2], digits)
}

// verifyingReader reads a file and checks its hash at the end.
type verifyingReader struct {
	*os.File
	sum hash.Hash
	ref string
}

func (v *verifyingReader) Read(p []byte) (int, error) {
	n, err := v.File.Read(p)
	v.sum.Write(p[:n])
	if err == io.EOF && scheme+hex.EncodeToString(v.sum.Sum(nil)) != v.ref {
		err = tool.Errorf("artifact.Read", tool.Internal, "artifact %s is damaged", v.ref).WithHint("restore it from a copy, or run the call again")
	}
	return n, err
}

// WriteTo keeps io.Copy from going around Read.
func (v *verifyingReader) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{v})
}

// ctxReader is a reader that stops when ctx does, and remembers why it failed, so
// that a failing source is not taken for a failing disk.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (s *ctxReader) Read(p []byte) (int, error) {
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	if err != io.EOF {
		s.err = err
	}
	return n, err
}

func kindOf(err error) tool.Kind {
	switch {
	case errors.Is(err, context.Canceled):
		return tool.Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Timeout
	}
	return tool.KindOf(err)
}

func writeError(op string, err error) error {
	return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the artifact cannot be stored", Hint: "see that the disk has space and that the state directory can be written", Err: err}
}
