// Package memstore stores the entries of an agent's memory: one collection for
// each session, and one of knowledge for each user and app. A collection is a
// file, and a copy of it in memory while it is used.
//
// # Law
//
//   - A change is one line at the end of the file, and is made when the line is on
//     the disk. The next opening cuts off a line that a crash left incomplete: no
//     caller was told that it was stored.
//   - One caller at a time changes a collection, and a store has at most one copy
//     of it in memory. A reader gets the entries of that moment; they never change.
//   - The file is rewritten as a whole when most of it is old lines, and whenever an
//     entry is erased: an erased text is not in the file once the change returns.
//   - A line that cannot be read does not affect the others. The damaged file is
//     kept under another name, and the log says so.
//   - A number is never used twice in a collection, even after its entry is gone.
//
// A store owns its folder: only the process that holds the kernel's state writes
// there.
package memstore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"time"
)

// Kind is the kind of an entry.
type Kind string

// The kinds. A session has a goal, tasks and facts.
const (
	Goal      Kind = "goal"
	Task      Kind = "task"
	Fact      Kind = "fact"
	Knowledge Kind = "knowledge"
)

// Entry is one thing that an agent remembers. A stored entry never changes; a
// change replaces it.
type Entry struct {
	ID      string    `json:"id"` // goal, t1, f1, k1: unique in its collection
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

// Number returns the number in the entry's ID; a goal has none.
func (e *Entry) Number() int {
	n, _ := strconv.Atoi(e.ID[min(1, len(e.ID)):])
	return n
}

// valid reports whether an entry of a file is one that this package writes.
func (e *Entry) valid() bool {
	if e.Seq < 0 || e.Seq > maxNumber || int64(e.Number()) > maxNumber {
		return false
	}
	switch e.Kind {
	case Goal:
		return e.ID == string(Goal)
	case Task, Fact, Knowledge:
		return e.Number() > 0 && e.ID == idOf(e.Kind, e.Number())
	default:
		return false
	}
}

// idOf returns the first letter of the kind and a number. The only goal is goal.
func idOf(k Kind, n int) string {
	if k == Goal {
		return string(Goal)
	}
	return string(k[:1]) + strconv.Itoa(n)
}

// IsID reports whether a text could be the ID of an entry.
func IsID(text string) bool {
	if text == string(Goal) {
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

// change is one line of a file: the entries to remove, then those to add.
type change struct {
	Drop []string `json:"drop,omitempty"`
	Put  []*Entry `json:"put,omitempty"`
}

// Edit is a collection during a change. The change takes effect when the function
// that has the Edit returns.
type Edit struct {
	Entries []*Entry // the entries after the change, sorted by their last change

	seq   int64
	last  map[Kind]int
	line  change
	waste int // bytes that replaced entries leave in the file, estimated
	erase bool
	now   time.Time
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
		if entry.Kind != Goal {
			e.last[entry.Kind]++
		}
		entry.ID = idOf(entry.Kind, e.last[entry.Kind])
	}
	entry.Made, entry.Changed = e.now, e.now
	if i := e.index(entry.ID); i >= 0 {
		entry.Made = e.Entries[i].Made
		e.remove(i)
	}
	e.seq++
	entry.Seq = e.seq
	e.Entries = append(e.Entries, &entry)
	e.line.Put = append(slices.DeleteFunc(e.line.Put, func(old *Entry) bool { return old.ID == entry.ID }), &entry)
	return &entry
}

// Drop removes an entry, if it exists. Its text stays in the file until the file
// is rewritten.
func (e *Edit) Drop(id string) {
	i := e.index(id)
	if i < 0 {
		return
	}
	e.remove(i)
	e.line.Put = slices.DeleteFunc(e.line.Put, func(entry *Entry) bool { return entry.ID == id })
	e.line.Drop = append(e.line.Drop, id)
}

func (e *Edit) remove(i int) {
	e.waste += weight(e.Entries[i])
	e.Entries = slices.Delete(e.Entries, i, i+1)
}

// Erase removes an entry from the collection and from its file.
func (e *Edit) Erase(id string) {
	e.erase = true
	e.Drop(id)
}

func (e *Edit) changed() bool { return len(e.line.Put)+len(e.line.Drop) > 0 }

// weight estimates the bytes of an entry in the file.
func weight(e *Entry) int {
	return len(e.Text) + len(e.Detail) + len(e.Key) + 200
}

// Weight estimates the bytes of entries in a file.
func Weight(entries []*Entry) int {
	n := 0
	for _, e := range entries {
		n += weight(e)
	}
	return n
}
