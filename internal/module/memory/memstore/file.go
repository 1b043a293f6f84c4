package memstore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"callgate/internal/durable"
)

// header is the first line of a file: the key of the collection, and the last
// numbers that were used before the file was rewritten.
type header struct {
	Format int          `json:"memory"`
	Key    Key          `json:"book"`
	Seq    int64        `json:"seq,omitempty"`
	Last   map[Kind]int `json:"last,omitempty"`
}

const format = 1

// minWaste is the size of old lines from which on a file is rewritten, if they are
// also more than half of it.
const minWaste = 64 << 10

// maxNumber is larger than any number of a collection.
const maxNumber = 1 << 53

// maxFile bounds the size of a file; this package writes none that is larger.
const maxFile = 512 << 20

// contents is a collection as its file has it.
type contents struct {
	entries []*Entry // by Seq
	seq     int64
	last    map[Kind]int
	size    int64 // of the file; 0 where there is none
	waste   int64 // bytes of old lines, estimated
}

// read reads a file. The error of a damaged file is a *damagedError; read then
// also returns everything that it could read.
func read(path string, key Key) (*contents, error) {
	c := &contents{last: map[Kind]int{}}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, errors.New("the file is larger than this program writes")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return c, c.parse(data, key)
}

// damagedError describes a damaged file.
type damagedError struct {
	torn  int64 // the length of the intact part, if only the end is incomplete; otherwise -1
	lines int   // the number of lines that cannot be read
}

func (d *damagedError) Error() string {
	switch {
	case d.torn >= 0:
		return "its last line is incomplete"
	case d.lines == 1:
		return "1 of its lines cannot be read"
	default:
		return fmt.Sprintf("%d of its lines cannot be read", d.lines)
	}
}

func (c *contents) parse(data []byte, key Key) error {
	c.size = int64(len(data))
	d := damagedError{torn: -1}
	if end := bytes.LastIndexByte(data, '\n') + 1; end < len(data) {
		d.torn = int64(end)
		data = data[:end]
	}
	entries := map[string]*Entry{} // by ID
	first := true
	for line := range bytes.Lines(data) {
		ok := false
		if first {
			if ok, first = c.parseHeader(line, key), false; !ok && hasOtherKey(line, key) {
				d.lines = bytes.Count(data, []byte("\n"))
				break // the file is that of another collection
			}
		} else {
			ok = c.apply(line, entries)
		}
		if !ok {
			d.lines++
		}
	}
	c.entries = slices.SortedFunc(maps.Values(entries), func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID))
	})
	c.waste = c.size - int64(Weight(c.entries))
	switch {
	case d.lines > 0 || first: // without a header the owner is unknown
		d.torn = -1
		d.lines = max(d.lines, 1)
		return &d
	case d.torn >= 0:
		return &d
	}
	return nil
}

// parseHeader reads the first line.
func (c *contents) parseHeader(line []byte, key Key) bool {
	var h header
	if json.Unmarshal(line, &h) != nil || h.Format != format || h.Key != key || h.Seq < 0 || h.Seq > maxNumber {
		return false
	}
	for k, n := range h.Last {
		if n < 0 || int64(n) > maxNumber {
			return false
		}
		c.last[k] = n
	}
	c.seq = h.Seq
	return true
}

func hasOtherKey(line []byte, key Key) bool {
	var h header
	return json.Unmarshal(line, &h) == nil && h.Format == format && h.Key != key
}

// apply applies the change of a line. It reports false for an invalid line, which
// changes nothing.
func (c *contents) apply(line []byte, entries map[string]*Entry) bool {
	var ch change
	if json.Unmarshal(line, &ch) != nil {
		return false
	}
	if slices.ContainsFunc(ch.Put, func(e *Entry) bool { return e == nil || !e.valid() }) {
		return false
	}
	for _, id := range ch.Drop {
		delete(entries, id)
	}
	for _, e := range ch.Put {
		entries[e.ID] = e
		c.seq = max(c.seq, e.Seq)
		c.last[e.Kind] = max(c.last[e.Kind], e.Number())
	}
	return true
}

// repair replaces a damaged file by one with everything that could be read, and
// returns what it did.
func (c *contents) repair(path string, key Key, d *damagedError, rename renaming) (string, error) {
	if d.torn >= 0 {
		if err := os.Truncate(path, d.torn); err != nil {
			return "", err
		}
		c.size = d.torn
		return "its end was cut off", nil
	}
	damaged := path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000")
	if err := rename(func() error { return durable.Move(path, damaged) }); err != nil {
		return "", err
	}
	c.size = 0
	done := "it was renamed to " + filepath.Base(damaged)
	if len(c.entries) == 0 {
		return done, nil
	}
	return done + ", and a new file has what can be read", c.rewrite(path, key, rename)
}

// renaming runs a function that gives a file its name, while no caller reads it.
type renaming func(do func() error) error

// encode returns the complete file.
func (c *contents) encode(key Key) ([]byte, error) {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	err := lines.Encode(header{format, key, c.seq, c.last})
	for _, e := range c.entries {
		err = cmp.Or(err, lines.Encode(change{Put: []*Entry{e}}))
	}
	return b.Bytes(), err
}

// rewrite replaces the file, completely or not at all.
func (c *contents) rewrite(path string, key Key, rename renaming) error {
	data, err := c.encode(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := rename(func() error { return durable.Write(path, data, 0o600) }); err != nil {
		return err
	}
	if c.size == 0 { // the folders may be new too
		folder := filepath.Dir(path)
		for range 3 {
			folder = filepath.Dir(folder)
			_ = durable.SyncFolder(folder)
		}
	}
	c.size, c.waste = int64(len(data)), 0
	return nil
}

// append adds a line to the file. After an error the file is unchanged, unless the
// error says that it could not be restored.
func (c *contents) append(path string, line change) error {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(line); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		err = errors.Join(err, f.Truncate(c.size))
	}
	if err = errors.Join(err, f.Close()); err == nil {
		c.size += int64(b.Len())
	}
	return err
}
