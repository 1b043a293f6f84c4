// Package vectorcache keeps embeddings on disk by the hash of what was
// embedded, so that a restart embeds nothing anew.
//
// There is one file per model in a folder: a header, then records of one size
// (a mark, a key, a scale, a row of int8, a checksum), in the order in which
// they came. Opening reads it in one pass into memory; from then on the file
// is only appended to, and it is opened only while that happens.
//
// # The law
//
// A cache may forget; it must not lie. A row that Get returns is a row that
// was Put under that key for that model, whatever happened to the file.
//
//   - Every record has a checksum that covers its key and is seeded with the
//     header, so a record of another model or another length is no record. What
//     does not check is passed over: the reader looks for the next mark, so
//     neither a flipped byte nor a torn end costs more than the records it
//     touched, and whoever misses them puts them again.
//   - A header that is not exactly the expected one (another version, another
//     length, a torn start) makes the whole file void. The next flush puts a
//     new one in its place, written aside and renamed.
//   - A flush is one write of whole records with O_APPEND. The system puts each
//     such write behind all others, so processes that share the file need no
//     lock. One killed in the middle leaves a torn record, and the records that
//     follow it are found by their mark. Two that find no file both begin one:
//     the second header is passed over like any other damage.
//   - Compacting reads the file, writes what is live aside, and renames. A
//     writer looks after its write whether the file is still the one of that
//     name, and writes again if not; the compacter looks after its rename for
//     what came last into the old file, and carries it over. So a record that
//     is written while another process compacts is in the new file by one hand
//     or the other. Records can be lost only where two replace the file in the
//     same moment, where a compacter is killed between its rename and the look
//     after it, or on a system that does not let an open file be replaced; they
//     are embedded again after the next start.
//   - Nothing waits for the disk to be safe: after a power cut the end of the
//     file may be missing or wrong, which the checksums tell.
//
// Where the folder cannot be read or written, or the disk is full, the cache
// lives on in memory, and [Cache.Err] says why.
//
// A Cache is safe for concurrent use. One lock guards the memory and is never
// held while the disk is busy; the other puts flushes and compactions in a row.
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

// The limits of what is accepted.
const (
	maxModel = 4 << 10 // bytes of a model's name
	maxDim   = 1 << 16
	maxFile  = 1 << 30 // a larger file is begun anew
)

// Cache is the embeddings of one model.
type Cache struct {
	path   string
	format format

	disk sync.Mutex // held by who writes the file; taken before mu

	mu       sync.RWMutex
	rows     map[[16]byte]entry
	pending  []byte // records that no flush has written yet
	err      error  // the first thing that went wrong
	detached bool   // nothing is written any more
}

// entry is one embedding. Rows are shared with callers and never change.
type entry struct {
	row   []int8
	scale float32
}

// Open loads what dir holds for a model whose embeddings have dim numbers. It
// writes nothing and makes no folder; the first flush does. It fails only on a
// model or a dim that cannot be: a folder that cannot be read gives an empty
// cache that lives in memory, with the reason in [Cache.Err].
func Open(dir, model string, dim int) (*Cache, error) {
	const op = "vectorcache.Open"
	switch {
	case dir == "":
		return nil, tool.Errorf(op, tool.Invalid, "no folder is named in which to keep vectors")
	case model == "" || len(model) > maxModel:
		return nil, tool.Errorf(op, tool.Invalid, "the model's identity has %d bytes; it must have 1 to %d", len(model), maxModel)
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

// Get returns the row of a key and what to multiply it with. The row is shared:
// do not change it.
func (c *Cache) Get(key [16]byte) (row []int8, scale float32, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.rows[key]
	return e.row, e.scale, ok
}

// Put remembers a row, which it copies, in the place of any other of that key.
// It reaches the disk with the next flush. What is no embedding of this model
// (a row of another length, a scale that is not finite) is not taken, and Err
// tells.
func (c *Cache) Put(key [16]byte, row []int8, scale float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(row) != c.format.dim || !finite(scale) {
		if c.err == nil {
			c.err = tool.Errorf("vectorcache.Put", tool.Invalid, "a row of %d numbers with scale %g was not kept: this cache is for %d", len(row), scale, c.format.dim)
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

// Len is how many rows Get knows.
func (c *Cache) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.rows)
}

// Err is the first reason why something is not kept, or nil. It stays, so that
// whoever reports it does so once.
func (c *Cache) Err() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.err
}

// Flush appends what was put since the last one to the file, in one write. A
// failure is returned by the flush that meets it; from then on the cache lives
// in memory, and later flushes do nothing.
func (c *Cache) Flush() error {
	c.disk.Lock()
	defer c.disk.Unlock()
	return c.flush()
}

// Close flushes. What is put later stays in memory.
func (c *Cache) Close() error {
	c.disk.Lock()
	defer c.disk.Unlock()
	err := c.flush()
	c.detach(nil)
	return err
}

// flush writes what is pending; disk is held.
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

// detach lets go of the file, for good.
func (c *Cache) detach(why *tool.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.detached, c.pending = true, nil
	if c.err == nil && why != nil {
		c.err = why
	}
}

// everything is a whole file of what is in memory, in the order of the keys.
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

// memoryOnly is the one thing that goes wrong with a disk.
func memoryOnly(op, what string, err error) *tool.Error {
	e := tool.Errorf(op, tool.Unavailable, "the file of cached vectors %s: %w", what, err)
	return e.WithHint("search works, but embeds anew after each start: make the folder writable, or make room on its disk, and restart")
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }
