// Package artifact keeps what is too large for the journal: arguments and
// results, each under the hash of its content.
//
// A ref is "sha256:" and 64 hex digits, and the bytes behind it are those or
// none: reading checks them. Storing is idempotent. A ref is returned when its
// bytes are durable, so it may be written to the journal at once.
//
// [Store] hashes, verifies and collects; [Blobs] keeps the bytes, and [Folder]
// keeps them in files.
//
// # Collecting
//
// An artifact that no record names any more may be deleted. Storing comes
// before naming, so what was stored lately is kept whether it is named or not:
// who stores an artifact, even one that was there already, has the whole grace
// period to name it.
package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"strings"

	"callgate/tool"
)

const scheme = "sha256:"

// Store names blobs by their content. It is safe for concurrent use.
type Store struct{ blobs Blobs }

// New returns a store on blobs.
func New(blobs Blobs) *Store { return &Store{blobs} }

// Open returns a store on a folder, which is made when it is absent.
func Open(dir string) (*Store, error) {
	folder := NewFolder(dir)
	if err := folder.prepare(); err != nil {
		return nil, writeError("artifact.Open", err)
	}
	return New(folder), nil
}

// Put stores data and returns its ref.
func (s *Store) Put(ctx context.Context, data []byte) (string, error) {
	sum := sha256.Sum256(data)
	ref := scheme + hex.EncodeToString(sum[:])
	if err := s.blobs.Put(ctx, ref, int64(len(data)), bytes.NewReader(data)); err != nil {
		return "", err
	}
	return ref, nil
}

// PutFrom stores what r yields and returns its ref. The content waits in a
// temporary file until its hash is known.
func (s *Store) PutFrom(ctx context.Context, r io.Reader) (ref string, err error) {
	const op = "artifact.Put"
	spool, err := os.CreateTemp("", "callgate-artifact-*") // mode 0600
	if err != nil {
		return "", writeError(op, err)
	}
	defer os.Remove(spool.Name())
	defer spool.Close()
	_ = os.Remove(spool.Name()) // at once where the system lets it be used on: then no kill leaves it
	sum, source := sha256.New(), &ctxReader{ctx: ctx, r: r}
	size, err := io.Copy(io.MultiWriter(spool, sum), source)
	if source.err != nil {
		return "", sourceError(op, source.err)
	}
	if err == nil {
		_, err = spool.Seek(0, io.SeekStart)
	}
	if err != nil {
		return "", writeError(op, err)
	}
	ref = scheme + hex.EncodeToString(sum.Sum(nil))
	if err := s.blobs.Put(ctx, ref, size, spool); err != nil {
		return "", err
	}
	return ref, nil
}

// Get returns the bytes behind a ref, once they are known to be those.
func (s *Store) Get(ctx context.Context, ref string) ([]byte, error) {
	r, err := s.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(&ctxReader{ctx: ctx, r: r})
}

// Open returns a reader of the bytes behind a ref. It reports damage in place
// of the end of the bytes: until then nothing that was read is proven.
func (s *Store) Open(ctx context.Context, ref string) (io.ReadCloser, error) {
	if err := Check(ref); err != nil {
		return nil, err
	}
	r, err := s.blobs.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &verifyingReader{r: r, sum: sha256.New(), ref: ref}, nil
}

// Check reports whether ref has the form of one.
func Check(ref string) error {
	digits, ok := strings.CutPrefix(ref, scheme)
	if ok && len(digits) == 2*sha256.Size && strings.Trim(digits, "0123456789abcdef") == "" {
		return nil
	}
	return tool.Errorf("artifact.Check", tool.Invalid,
		"%.80q is not an artifact's ref; one is sha256: and 64 hex digits in lower case", ref)
}

// verifyingReader reads bytes and checks their hash at the end.
type verifyingReader struct {
	r   io.ReadCloser
	sum hash.Hash
	ref string
}

// Read reports damage where the bytes end.
func (v *verifyingReader) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.sum.Write(p[:n])
	if err == io.EOF && scheme+hex.EncodeToString(v.sum.Sum(nil)) != v.ref {
		err = tool.Errorf("artifact.Read", tool.Internal, "artifact %s is damaged", v.ref).
			WithHint("restore it from a copy, or run the call again")
	}
	return n, err
}

// Close closes the bytes.
func (v *verifyingReader) Close() error { return v.r.Close() }

// ctxReader is a reader that stops when ctx does, and remembers why it failed,
// so that a failing source is not taken for a failing disk.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
	err error
}

// Read reads unless the context has ended.
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

func sourceError(op string, err error) error {
	return &tool.Error{Op: op, Kind: kindOf(err), Message: "the content of an artifact cannot be read", Err: err}
}

func writeError(op string, err error) error {
	return &tool.Error{
		Op: op, Kind: tool.Unavailable, Message: "the artifact cannot be stored", Err: err,
		Hint: "see that the disk has space and that the state directory can be written",
	}
}
