package schema

import (
	"encoding/json"
	"errors"
	"sync"

	"callgate/tool"
)

// maxCached limits the schemas in a cache; a full cache is cleared.
const maxCached = 1 << 16

// Cache compiles each schema at most once, on first use. The zero value is ready
// to use.
//
// The key of a schema is its text. Hashing a long text for every call would be
// wasteful, so the cache also remembers the memory addresses at which it saw a
// text, and recognizes a slice at such an address without reading it. Hence the
// law: a slice that was given to Get must never change. The snapshots of the
// registry obey it. The cache keeps the slices it remembers alive, so that an
// address always stands for the same text. It therefore remembers only the last
// few addresses of each text: one for every recent generation of the registry.
//
// Lookups share a read lock and compile outside it. The first caller compiles a
// schema; other callers for the same schema wait for it.
type Cache struct {
	mu        sync.RWMutex
	byAddress map[textKey]*entry
	texts     map[string]*entry
}

// textKey is the memory address and length of a text.
type textKey struct {
	first  *byte
	length int
}

type entry struct {
	text   json.RawMessage
	known  [4]textKey // the last addresses of the text
	next   int        // the index in known that is overwritten next
	once   sync.Once
	schema *Schema
	err    error
}

// Get returns the compiled schema of raw, or the error of its compilation.
func (c *Cache) Get(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		return Compile(raw)
	}
	key := textKey{&raw[0], len(raw)}
	c.mu.RLock()
	e := c.byAddress[key]
	c.mu.RUnlock()
	if e == nil {
		e = c.entryFor(key, raw)
	}
	e.once.Do(func() { e.schema, e.err = Compile(e.text) })
	if e.err == nil {
		return e.schema, nil
	}
	var t *tool.Error
	if errors.As(e.err, &t) {
		own := *t // a caller may add a hint to its copy
		return nil, &own
	}
	return nil, e.err
}

// Len returns how many schemas are kept.
func (c *Cache) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.texts)
}

// entryFor finds or creates the entry of a text, and remembers its address.
func (c *Cache) entryFor(key textKey, raw json.RawMessage) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.texts == nil || len(c.texts) >= maxCached {
		c.texts, c.byAddress = map[string]*entry{}, map[textKey]*entry{}
	}
	e := c.texts[string(raw)]
	if e == nil {
		e = &entry{text: raw}
		c.texts[string(raw)] = e
	}
	if c.byAddress[key] == e {
		return e // another caller added it first
	}
	delete(c.byAddress, e.known[e.next])
	e.known[e.next] = key
	e.next = (e.next + 1) % len(e.known)
	c.byAddress[key] = e
	return e
}
