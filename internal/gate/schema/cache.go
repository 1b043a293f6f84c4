package schema

import (
	"encoding/json"
	"errors"
	"sync"

	"callgate/tool"
)

// maxCached bounds the schemas that a cache holds; past it, it starts anew.
const maxCached = 1 << 16

// Cache compiles schemas when they are first asked for, each at most once.
// The zero value is ready to use.
//
// A schema is known by its text. Hashing a long text for every call would be
// waste, so the cache also remembers the places in memory where it met a
// text, and a slice at one of these places is known without being read. Hence
// the law: a slice that was given to Get must never change. A registry's
// snapshots keep that law by themselves. The cache holds on to the slices it
// remembers, which is what makes the place stand for the text, so it remembers
// only the last few places of each text: one for every recent generation of
// the registry.
//
// Lookups share a read lock and compile outside it; the first to ask for a
// schema compiles it, and others who ask meanwhile wait for that one only.
type Cache struct {
	mu     sync.RWMutex
	places map[textKey]*entry
	texts  map[string]*entry
}

// textKey is where a text lies in memory.
type textKey struct {
	first  *byte
	length int
}

type entry struct {
	text   json.RawMessage
	known  [4]textKey // places that lead here, the oldest to be overwritten next
	next   int
	once   sync.Once
	schema *Schema
	err    error
}

// Get returns the compiled schema of raw, or why there is none.
func (c *Cache) Get(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		return Compile(raw)
	}
	here := textKey{&raw[0], len(raw)}
	c.mu.RLock()
	e := c.places[here]
	c.mu.RUnlock()
	if e == nil {
		e = c.entryFor(here, raw)
	}
	e.once.Do(func() { e.schema, e.err = Compile(e.text) })
	if e.err == nil {
		return e.schema, nil
	}
	var t *tool.Error
	if errors.As(e.err, &t) {
		mine := *t // a caller may add a hint to its own
		return nil, &mine
	}
	return nil, e.err
}

// entryFor finds or makes the entry of a text, and remembers the place.
func (c *Cache) entryFor(here textKey, raw json.RawMessage) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.texts == nil || len(c.texts) >= maxCached {
		c.texts, c.places = map[string]*entry{}, map[textKey]*entry{}
	}
	e := c.texts[string(raw)]
	if e == nil {
		e = &entry{text: raw}
		c.texts[string(raw)] = e
	}
	if c.places[here] == e {
		return e // another caller was first
	}
	delete(c.places, e.known[e.next])
	e.known[e.next] = here
	e.next = (e.next + 1) % len(e.known)
	c.places[here] = e
	return e
}
