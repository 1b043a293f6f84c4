// Package memstore stores the entries of an agent's memory: one collection for
// each session, and one of knowledge for each user and app. An entry is a
// document, and so is the head of a collection, which has its last numbers. A
// collection that is used has a copy in memory.
//
// # Law
//
//   - A change is one write of documents, all of it or nothing, and is made when
//     the write is durable. Each changes the head, so of two changes that began
//     with the same entries one is repeated with the new ones.
//   - One caller of a store at a time uses a collection. The copy in memory counts
//     only while its head is the stored one: another kernel may change it too. A
//     reader gets the entries of that moment; they never change.
//   - An entry that is dropped is deleted, with its text.
//   - A document that cannot be read does not affect the others, and the log says so.
//   - A number is never used twice in a collection, even after its entry is gone.
//
// Earlier versions kept a collection in a file. The files of a user and an app
// are imported when one of their collections is first used: see [Open].
package memstore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Kind is the kind of an entry.
type Kind string

// The kinds. A session has a goal, tasks and facts, and a summary of what it no longer has.
const (
	Goal      Kind = "goal"
	Task      Kind = "task"
	Fact      Kind = "fact"
	Summary   Kind = "summary"
	Knowledge Kind = "knowledge"
)

// Entry is one thing that an agent remembers. A stored entry never changes; a
// change replaces it.
type Entry struct {
	ID      string    `json:"id"` // goal, summary, t1, f1, k1: unique in its collection
	Kind    Kind      `json:"kind"`
	Key     string    `json:"key,omitempty"` // a name that its writer chose
	Text    string    `json:"text"`
	Detail  string    `json:"detail,omitempty"`
	Status  string    `json:"status,omitempty"`
	Tags    []string  `json:"tags,omitempty"`
	Seq     int64     `json:"seq"` // rises with each change of the collection
	Made    time.Time `json:"made"`
	Changed time.Time `json:"changed"`
}

// Hash returns the hash of the entry's text: the first half of its SHA-256, in hex.
func (e *Entry) Hash() string { return HashOf(e.Text) }

// HashOf returns the hash of a text.
func HashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// Number returns the number in the entry's ID; a goal and a summary have none.
func (e *Entry) Number() int {
	n, _ := strconv.Atoi(e.ID[min(1, len(e.ID)):])
	return n
}

// valid reports whether a stored entry is one that this package writes.
func (e *Entry) valid() bool {
	if e.Seq < 0 || e.Seq > maxNumber || int64(e.Number()) > maxNumber {
		return false
	}
	for _, at := range []time.Time{e.Made, e.Changed} {
		if _, err := at.MarshalJSON(); err != nil {
			return false // it could not be stored again
		}
	}
	switch e.Kind {
	case Goal, Summary:
		return e.ID == string(e.Kind)
	case Task, Fact, Knowledge:
		return e.Number() > 0 && e.ID == idOf(e.Kind, e.Number())
	default:
		return false
	}
}

// idOf returns the first letter of the kind and a number. What there is one of goes by its kind.
func idOf(k Kind, n int) string {
	if k.isSingle() {
		return string(k)
	}
	return string(k[:1]) + strconv.Itoa(n)
}

// isSingle reports whether a collection has at most one entry of the kind.
func (k Kind) isSingle() bool { return k == Goal || k == Summary }

// IsID reports whether a text could be the ID of an entry.
func IsID(text string) bool {
	if Kind(text).isSingle() {
		return true
	}
	if len(text) < 2 || text[0] != 't' && text[0] != 'f' && text[0] != 'k' {
		return false
	}
	_, err := strconv.ParseUint(text[1:], 10, 63)
	return err == nil
}

// Of returns the entries of a kind, sorted by their last change.
func Of(entries []*Entry, k Kind) []*Entry {
	var some []*Entry
	for _, e := range entries {
		if e.Kind == k {
			some = append(some, e)
		}
	}
	return some
}

// Tasks returns the tasks in the order of their creation.
func Tasks(entries []*Entry) []*Entry {
	tasks := Of(entries, Task)
	slices.SortFunc(tasks, func(a, b *Entry) int { return cmp.Compare(a.Number(), b.Number()) })
	return tasks
}

// Edit is a collection during a change. The change takes effect when the function
// that has the Edit returns.
type Edit struct {
	Entries []*Entry // the entries after the change, sorted by their last change

	seq     int64
	last    map[Kind]int
	touched map[string]bool // the IDs that were put or dropped
	now     time.Time
}

// edit begins a change of a collection.
func (c *contents) edit() *Edit {
	return &Edit{
		Entries: slices.Clone(c.entries), seq: c.head.Seq, last: maps.Clone(c.head.Last), touched: map[string]bool{},
		now: time.Now().UTC().Truncate(time.Millisecond),
	}
}

// Find returns the entry with an ID, or nil.
func (e *Edit) Find(id string) *Entry {
	if i := e.index(id); i >= 0 {
		return e.Entries[i]
	}
	return nil
}

func (e *Edit) index(id string) int {
	return slices.IndexFunc(e.Entries, func(entry *Entry) bool { return entry.ID == id })
}

// Put adds an entry: a new one if it has no ID, otherwise in place of the one with
// that ID. It returns the stored entry.
func (e *Edit) Put(entry Entry) *Entry {
	if entry.ID == "" {
		if !entry.Kind.isSingle() {
			e.last[entry.Kind]++
		}
		entry.ID = idOf(entry.Kind, e.last[entry.Kind])
	}
	entry.Made, entry.Changed = e.now, e.now
	if i := e.index(entry.ID); i >= 0 {
		entry.Made = e.Entries[i].Made
		e.Entries = slices.Delete(e.Entries, i, i+1)
	}
	e.seq++
	entry.Seq = e.seq
	e.Entries = append(e.Entries, &entry)
	e.touched[entry.ID] = true
	return &entry
}

// Drop removes an entry, if it exists.
func (e *Edit) Drop(id string) {
	if i := e.index(id); i >= 0 {
		e.Entries = slices.Delete(e.Entries, i, i+1)
		e.touched[id] = true
	}
}

// weight estimates the bytes of an entry.
func weight(e *Entry) int {
	return len(e.Text) + len(e.Detail) + len(e.Key) + 200
}

// Weight estimates the bytes of entries.
func Weight(entries []*Entry) int {
	n := 0
	for _, e := range entries {
		n += weight(e)
	}
	return n
}
