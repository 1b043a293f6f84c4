package memstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// header is the first line of a file of earlier versions: the key of the
// collection, and the last numbers that were used before the file was rewritten.
type header struct {
	Format int          `json:"memory"`
	Key    Key          `json:"book"`
	Seq    int64        `json:"seq,omitempty"`
	Last   map[Kind]int `json:"last,omitempty"`
}

const format = 1

// change is any other line: the entries to remove, then those to add.
type change struct {
	Drop []string `json:"drop,omitempty"`
	Put  []*Entry `json:"put,omitempty"`
}

// damagedError describes a damaged file.
type damagedError struct {
	torn  bool // only its end is incomplete: a crash cut off what nobody was told is stored
	lines int  // the number of lines that cannot be read
}

func (d *damagedError) Error() string {
	switch {
	case d.torn:
		return "its last line is incomplete"
	case d.lines == 1:
		return "1 of its lines cannot be read"
	default:
		return fmt.Sprintf("%d of its lines cannot be read", d.lines)
	}
}

// parseFile reads the file of a collection. If it is damaged, parseFile also
// returns everything that can be read.
func parseFile(data []byte, key Key) (*contents, *damagedError) {
	c := &contents{head: head{Key: key, Last: map[Kind]int{}}, versions: map[string]int64{}}
	d := damagedError{}
	if end := bytes.LastIndexByte(data, '\n') + 1; end < len(data) {
		d.torn = true
		data = data[:end]
	}
	entries := map[string]*Entry{} // by ID
	first := true
	for line := range bytes.Lines(data) {
		ok := false
		if first {
			if ok, first = c.parseHeader(line), false; !ok && hasOtherKey(line, key) {
				d.lines = bytes.Count(data, []byte("\n"))
				break // the file is that of another collection
			}
		} else {
			ok = c.applyLine(line, entries)
		}
		if !ok {
			d.lines++
		}
	}
	c.entries = slices.SortedFunc(maps.Values(entries), bySeq)
	switch {
	case d.lines > 0 || first: // without a header the owner is unknown
		return c, &damagedError{lines: max(d.lines, 1)}
	case d.torn:
		return c, &d
	}
	return c, nil
}

// readHeader reads the first line of a file.
func readHeader(data []byte) (h header, ok bool) {
	line, _, found := bytes.Cut(data, []byte("\n"))
	return h, found && json.Unmarshal(line, &h) == nil && h.Format == format
}

// parseHeader reads the first line of the collection's own file.
func (c *contents) parseHeader(line []byte) bool {
	h, ok := readHeader(line)
	if !ok || h.Key != c.head.Key || h.Seq < 0 || h.Seq > maxNumber {
		return false
	}
	for k, n := range h.Last {
		if n < 0 || int64(n) > maxNumber {
			return false
		}
		c.head.Last[k] = n
	}
	c.head.Seq = h.Seq
	return true
}

func hasOtherKey(line []byte, key Key) bool {
	h, ok := readHeader(line)
	return ok && h.Key != key
}

// applyLine applies the change of a line. It reports false for an invalid line,
// which changes nothing.
func (c *contents) applyLine(line []byte, entries map[string]*Entry) bool {
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
		c.head.Seq = max(c.head.Seq, e.Seq)
		c.head.Last[e.Kind] = max(c.head.Last[e.Kind], e.Number())
	}
	return true
}
