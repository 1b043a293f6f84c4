// Package vectorcache keeps embeddings on disk by the hash of the embedded text,
// so that a restart does not compute them again.
//
// A folder holds one file for each model: a header, then records of the same size
// (a mark, a key, a scale, a row of int8, a checksum), in the order in which they
// were written. Opening reads the file into memory in one pass; after that the
// file is only appended to, and it is open only for the time of a write.
//
// # Law
//
// A cache may lose rows; it must not return wrong ones. A row that Get returns
// was Put under that key for that model, whatever happened to the file.
//
//   - Every record has a checksum that covers its key and is seeded with the
//     header, so a record of another model or another length is not valid. The
//     reader skips what is not valid up to the next mark. So a flipped byte or an
//     incomplete end costs only the records that it touches.
//   - A header other than the expected one (another version, another length, an
//     incomplete one) makes the whole file invalid. The next flush replaces it by
//     a new file, with a rename.
//   - A flush is one write of whole records with O_APPEND. The system appends
//     each such write after all others, so processes that share the file need no
//     lock. A process killed in the middle leaves an incomplete record; the
//     records after it are found by their mark. Two processes that find no file
//     both create one: the second header is skipped like any other damage.
//   - Compacting reads the file, writes the live records to a temporary file, and
//     renames that. After a write, a writer checks whether the file still has its
//     name, and writes again if not. After its rename, a compacting process reads
//     what was appended to the old file in the meantime, and appends it to the new
//     one. So a record that is written while another process compacts is in the
//     new file. Records can be lost only if two processes replace the file at the
//     same moment, if a compacting process is killed between its rename and the
//     last read, or on a system where an open file cannot be replaced; they are
//     computed again after the next start.
//   - Writes are not synced: after a power cut the end of the file may be missing
//     or wrong, which the checksums show.
//
// If the folder cannot be read or written, or the disk is full, the cache works in
// memory only, and [Cache.Err] is the reason.
//
// A Cache is safe for concurrent use. One lock guards the memory, and is never
// held during disk access; the other serialises flushes and compactions.
package vectorcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"callgate/tool"
)

// The limits.
const (
	maxModel = 4 << 10 // bytes of a model's name
	maxDim   = 1 << 16
	maxFile  = 1 << 30 // a larger file is replaced
)

// Cache holds the embeddings of one model.
type Cache struct {
	path   string
	format format

	disk sync.Mutex // held while the file is written; taken before mu

	mu       sync.RWMutex
	rows     map[[16]byte]entry
	pending  []byte // records that no flush has written yet
	err      error  // the first failure
	detached bool   // the file is not used any more
}

// entry is one embedding. Rows are shared with callers and immutable.
type entry struct {
	row   []int8
	scale float32
}

// Open loads the file of a model in dir, with embeddings of dim numbers. It writes
// nothing and makes no folder; the first flush does. It fails only if model or dim
// is not valid: if the folder cannot be read, the cache is empty and works in
// memory only, with the reason in [Cache.Err].
func Open(dir, model string, dim int) (*Cache, error) {
	const op = "vectorcache.Open"
	switch {
	case dir == "":
		return nil, tool.Errorf(op, tool.Invalid, "the cache of vectors has no folder")
	case model == "" || len(model) > maxModel:
		return nil, tool.Errorf(op, tool.Invalid,
			"the model's ID has %d bytes; it must have 1 to %d", len(model), maxModel)
	case dim < 1 || dim > maxDim:
		return nil, tool.Errorf(op, tool.Invalid, "vectors of %d numbers cannot be kept; they must have 1 to %d", dim, maxDim)
	}
	name := sha256.Sum256([]byte(model))
	c := &Cache{path: filepath.Join(dir, hex.EncodeToString(name[:16])+".vec"), format: newFormat(model, dim)}
	data, err := c.read()
	if err != nil {
		c.detach(memoryOnly(op, "cannot be read", err))
	}
	c.rows = c.format.load(data)
	return c, nil
}

// Get returns the row of a key and its scale. The row is shared and must not be
// changed.
func (c *Cache) Get(key [16]byte) (row []int8, scale float32, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.rows[key]
	return e.row, e.scale, ok
}

// Put stores a copy of a row under a key. The next flush writes it to the disk. A
// row of another length, or with a scale that is not finite, is not stored, and
// Err returns the reason.
func (c *Cache) Put(key [16]byte, row []int8, scale float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(row) != c.format.dim || !finite(scale) {
		if c.err == nil {
			c.err = tool.Errorf("vectorcache.Put", tool.Invalid,
				"a row of %d numbers with scale %g was not kept: this cache is for %d", len(row), scale, c.format.dim)
		}
		return
	}
	if old, ok := c.rows[key]; ok && old.scale == scale && slices.Equal(old.row, row) {
		return
	}
	c.rows[key] = entry{slices.Clone(row), scale}
	if !c.detached {
		c.pending = c.format.append(c.pending, key, row, scale)
	}
}

// Len is the number of rows.
func (c *Cache) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.rows)
}

// Err is the first failure, or nil. It does not change after that.
func (c *Cache) Err() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.err
}

// Flush appends the rows since the last flush to the file, in one write. After a
// failure the cache works in memory only, and later flushes do nothing.
func (c *Cache) Flush() error {
	c.disk.Lock()
	defer c.disk.Unlock()
	return c.flush()
}

// Close flushes. Later rows stay in memory.
func (c *Cache) Close() error {
	c.disk.Lock()
	defer c.disk.Unlock()
	err := c.flush()
	c.detach(nil)
	return err
}

// flush writes the pending records. c.disk is held.
func (c *Cache) flush() error {
	c.mu.Lock()
	data := c.pending
	c.pending = nil
	c.mu.Unlock()
	if len(data) == 0 {
		return nil
	}
	if err := c.write(data); err != nil {
		failed := memoryOnly("vectorcache.Flush", "cannot be written", err)
		c.detach(failed)
		return failed
	}
	return nil
}

// detach stops the use of the file.
func (c *Cache) detach(why *tool.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detached, c.pending = true, nil
	if c.err == nil && why != nil {
		c.err = why
	}
}

// everything is the content of a file with all rows, in the order of their keys.
func (c *Cache) everything() []byte {
	c.mu.RLock()
	defer c.mu.RUnlock()
	keys := slices.SortedFunc(maps.Keys(c.rows), func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	data := slices.Grow(slices.Clone(c.format.header), len(keys)*c.format.size())
	for _, key := range keys {
		data = c.format.append(data, key, c.rows[key].row, c.rows[key].scale)
	}
	return data
}

// memoryOnly is the error of a disk that cannot be used.
func memoryOnly(op, what string, err error) *tool.Error {
	e := tool.Errorf(op, tool.Unavailable, "the file of cached vectors %s: %w", what, err)
	return e.WithHint("search works, but computes its vectors again after each start: " +
		"make the folder writable, or free space on its disk, and restart")
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }
