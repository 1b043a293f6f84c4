package artifact

import (
	"context"
	"io"
	"time"
)

// Blob is what a store of blobs knows of one.
type Blob struct {
	Ref    string
	Size   int64
	Stored time.Time // when it was last put
}

// Blobs keeps bytes under refs. It is safe for concurrent use, and knows
// nothing of hashes: [Store] names the bytes, and proves them when they are
// read. Refs have passed [Check].
type Blobs interface {
	// Put keeps size bytes of content under ref, whole or not at all, and durably
	// before it returns. A blob of that ref and size that is there already is
	// kept as it is, counts as stored now, and content need not be read.
	Put(ctx context.Context, ref string, size int64, content io.Reader) error
	// Open returns the bytes, or a NotFound error.
	Open(ctx context.Context, ref string) (io.ReadCloser, error)
	// List returns the blobs with refs after one, in the order of refs, at most
	// limit of them.
	List(ctx context.Context, after string, limit int) ([]Blob, error)
	// Delete removes a blob that was last stored before a time, and reports
	// whether it did. One that is put again meanwhile is not removed.
	Delete(ctx context.Context, ref string, storedBefore time.Time) (bool, error)
}
