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

// header is the first line of a file: whose book it is, and the numbers that
// were given in it before the file was written anew.
type header struct {
	Format int          `json:"memory"`
	Book   Key          `json:"book"`
	Seq    int64        `json:"seq,omitempty"`
	Last   map[Kind]int `json:"last,omitempty"`
}

const format = 1

// A file is written anew when more than this is old lines, and that is more
// than half of it.
const wasteful = 64 << 10

// maxNumber is more than any book gives.
const maxNumber = 1 << 53

// maxFile bounds what is read of a file; none that was written here is larger.
const maxFile = 512 << 20

// contents are a book as its file has it.
type contents struct {
	entries []*Entry // by Seq
	seq     int64
	last    map[Kind]int
	size    int64 // of the file; 0: there is none
	waste   int64 // about how much of it is old lines
}

// read reads a file. What cannot be read is told by an error of the type
// *damage, with everything that can be.
func read(path string, name Key) (*contents, error) {
	c := &contents{last: map[Kind]int{}}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("the file is larger than any that was written here")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return c, c.parse(data, name)
}

// damagedError is what is wrong with a file.
type damagedError struct {
	torn  int64 // up to where it is whole, when only its end is missing; else -1
	lines int   // how many cannot be read
}

func (d *damagedError) Error() string {
	if d.torn >= 0 {
		return "its last line was not written to its end"
	}
	return fmt.Sprintf("%d of its lines cannot be read", d.lines)
}

func (c *contents) parse(data []byte, name Key) error {
	c.size = int64(len(data))
	d := damagedError{torn: -1}
	if end := bytes.LastIndexByte(data, '\n') + 1; end < len(data) {
		d.torn = int64(end)
		data = data[:end]
	}
	held := map[string]*Entry{}
	first := true
	for line := range bytes.Lines(data) {
		ok := false
		if first {
			if ok, first = c.begin(line, name), false; !ok && belongsToAnother(line, name) {
				d.lines = bytes.Count(data, []byte("\n"))
				break // nothing in it is ours to read
			}
		} else {
			ok = c.apply(line, held)
		}
		if !ok {
			d.lines++
		}
	}
	c.entries = slices.SortedFunc(maps.Values(held), func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID))
	})
	c.waste = c.size - int64(Weight(c.entries))
	switch {
	case d.lines > 0 || first: // without a first line it is nobody's
		d.torn = -1
		d.lines = max(d.lines, 1)
		return &d
	case d.torn >= 0:
		return &d
	}
	return nil
}

// begin reads the first line.
func (c *contents) begin(line []byte, name Key) bool {
	var h header
	if json.Unmarshal(line, &h) != nil || h.Format != format || h.Book != name || h.Seq < 0 || h.Seq > maxNumber {
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

func belongsToAnother(line []byte, name Key) bool {
	var h header
	return json.Unmarshal(line, &h) == nil && h.Format == format && h.Book != name
}

// apply does what a line says, or nothing if the line is not one of ours.
func (c *contents) apply(line []byte, held map[string]*Entry) bool {
	var one change
	if json.Unmarshal(line, &one) != nil || slices.ContainsFunc(one.Put, func(e *Entry) bool { return e == nil || !e.valid() }) {
		return false
	}
	for _, id := range one.Drop {
		delete(held, id)
	}
	for _, e := range one.Put {
		held[e.ID] = e
		c.seq = max(c.seq, e.Seq)
		c.last[e.Kind] = max(c.last[e.Kind], e.Number())
	}
	return true
}

// repair makes a damaged file whole again, with what could be read of it, and
// says what was done.
func (c *contents) repair(path string, name Key, d *damagedError, rename renaming) (string, error) {
	if d.torn >= 0 {
		if err := os.Truncate(path, d.torn); err != nil {
			return "", err
		}
		c.size = d.torn
		return "its end was cut off", nil
	}
	aside := path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000")
	if err := rename(func() error { return durable.Move(path, aside) }); err != nil {
		return "", err
	}
	c.size = 0
	if len(c.entries) == 0 {
		return "it was put aside as " + filepath.Base(aside), nil
	}
	return "it was put aside as " + filepath.Base(aside) + ", and what can be read is kept", c.rewrite(path, name, rename)
}

// renaming does something that gives a file its name, while nobody reads it.
type renaming func(do func() error) error

// encode is the file as it is written anew.
func (c *contents) encode(name Key) ([]byte, error) {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	err := lines.Encode(header{format, name, c.seq, c.last})
	for _, e := range c.entries {
		err = cmp.Or(err, lines.Encode(change{Put: []*Entry{e}}))
	}
	return b.Bytes(), err
}

// rewrite writes the file anew, whole or not at all.
func (c *contents) rewrite(path string, name Key, rename renaming) error {
	data, err := c.encode(name)
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

// append adds a line to the file. If that fails the file is as it was, or the
// error says that it may not be.
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
