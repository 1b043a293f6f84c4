package memstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"callgate/internal/document"
	"callgate/tool"
)

// Key names a collection: that of a session, or the knowledge of a user and an app.
type Key struct {
	User      string `json:"user"`
	App       string `json:"app"`
	Session   string `json:"session,omitempty"`
	Knowledge bool   `json:"knowledge,omitempty"`

	shared bool // it is one at all nodes; the store finds it out
}

// valid returns the key as it is stored, in valid UTF-8.
func (k Key) valid() Key {
	for _, name := range []*string{&k.User, &k.App, &k.Session} {
		*name = strings.ToValidUTF8(*name, "\ufffd")
	}
	return k
}

// The parts of names that tell sessions from the knowledge.
const (
	sessionPart   = "session"
	knowledgePart = "knowledge"
)

// entries names the documents of the collection's entries. Their keys are IDs.
func (k Key) entries() string {
	if k.Knowledge {
		return k.named(document.Join(k.User, k.App, knowledgePart))
	}
	return k.named(document.Join(k.User, k.App, sessionPart, k.Session))
}

// heads names the heads of all collections of the key's user and app.
func (k Key) heads() string { return k.named(document.Join(k.User, k.App)) }

func (k Key) named(collection string) string {
	if k.shared {
		return document.Shared(collection)
	}
	return collection
}

// head is the key of the collection's head.
func (k Key) head() string {
	if k.Knowledge {
		return knowledgePart
	}
	return document.Join(sessionPart, k.Session)
}

// head is what a collection has beside its entries.
type head struct {
	Key      Key          `json:"key"`
	Seq      int64        `json:"seq,omitempty"`  // the last one
	Last     map[Kind]int `json:"last,omitempty"` // the last numbers
	Changed  time.Time    `json:"changed"`
	Imported string       `json:"imported,omitempty"` // the hash of the file that was imported
}

// contents is a collection as it is stored.
type contents struct {
	head     head
	version  int64            // of the head; 0: there is none
	entries  []*Entry         // by Seq
	versions map[string]int64 // of the entries' documents, also of damaged ones
}

// maxNumber is larger than any number of a collection.
const maxNumber = 1 << 53

// maxReads limits how often a collection is read while others change it.
const maxReads = 100

// load reads a collection, unless the copy in memory is the stored one.
func (s *Store) load(ctx context.Context, key Key, known *contents) (*contents, error) {
	for range maxReads {
		stored, err := s.docs.Get(ctx, key.heads(), key.head())
		if err != nil && tool.KindOf(err) != tool.NotFound {
			return nil, err
		}
		if known != nil && known.version == stored.Version {
			return known, nil
		}
		next := &contents{
			head:    head{Key: key, Last: map[Kind]int{}},
			version: stored.Version, versions: map[string]int64{},
		}
		if stored.Version == 0 {
			return next, nil
		}
		if !next.parseHead(stored.Data) {
			s.log.Warn("the head of a memory collection cannot be read; its entries are", "collection", key.entries())
		}
		docs, err := document.ListAll(ctx, s.docs, key.entries(), "")
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			if !next.add(d) {
				s.log.Warn("an entry of the memory cannot be read", "collection", key.entries(), "entry", d.Key)
			}
		}
		slices.SortFunc(next.entries, bySeq)
		known = next // if the head is still the same, no change came between
	}
	return nil, tool.Errorf("memory.read", tool.Unavailable, "the memory changes faster than it can be read").
		WithHint("try again")
}

func bySeq(a, b *Entry) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID)) }

func (c *contents) parseHead(data []byte) bool {
	h := head{Key: Key{shared: c.head.Key.shared}}
	if json.Unmarshal(data, &h) != nil || h.Key != c.head.Key || h.Seq < 0 || h.Seq > maxNumber {
		return false
	}
	for k, n := range h.Last {
		if n < 0 || int64(n) > maxNumber {
			return false
		}
		c.head.Last[k] = n
	}
	h.Last = c.head.Last
	c.head = h
	return true
}

// add adds a stored entry. It reports false for one that cannot be read.
func (c *contents) add(d document.Document) bool {
	c.versions[d.Key] = d.Version
	e := &Entry{}
	if json.Unmarshal(d.Data, e) != nil || !e.valid() || e.ID != d.Key {
		return false
	}
	c.entries = append(c.entries, e)
	c.head.Seq = max(c.head.Seq, e.Seq)
	c.head.Last[e.Kind] = max(c.head.Last[e.Kind], e.Number())
	return true
}

// apply returns the collection after a change, and the write that makes it. The
// caller sets the versions when it is made.
func (c *contents) apply(e *Edit) (next *contents, changes []document.Change, err error) {
	next = &contents{head: c.head, entries: e.Entries, versions: c.versions}
	next.head.Seq, next.head.Last, next.head.Changed = e.seq, e.last, e.now
	if changes, err = next.headChange(c.version); err != nil {
		return nil, nil, err
	}
	for id := range e.touched {
		change := document.Change{Collection: c.head.Key.entries(), Key: id, If: c.versions[id]}
		entry := e.Find(id)
		if entry == nil && change.If == 0 {
			continue // it was made and dropped in one change
		}
		if entry != nil {
			if change.Data, err = json.Marshal(entry); err != nil {
				return nil, nil, err
			}
		}
		changes = append(changes, change)
	}
	return next, changes, nil
}

func (c *contents) headChange(version int64) ([]document.Change, error) {
	data, err := json.Marshal(c.head)
	key := c.head.Key
	return []document.Change{{Collection: key.heads(), Key: key.head(), If: version, Data: data}}, err
}

// written sets the versions after a write.
func (c *contents) written(version int64, changes []document.Change) {
	c.version = version
	for _, change := range changes[1:] {
		if change.Data == nil {
			delete(c.versions, change.Key)
		} else {
			c.versions[change.Key] = version
		}
	}
}

// deletion returns the write that deletes the collection.
func (c *contents) deletion() []document.Change {
	if c.version == 0 {
		return nil
	}
	key := c.head.Key
	changes := []document.Change{{Collection: key.heads(), Key: key.head(), If: c.version}}
	for id, version := range c.versions {
		changes = append(changes, document.Change{Collection: key.entries(), Key: id, If: version})
	}
	return changes
}
