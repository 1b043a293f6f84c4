// Package memstore keeps what is remembered: one book for each session, and one of
// knowledge for each user and app. A book is a file and, while somebody uses
// it, the same in memory.
//
// # Law
//
//   - A change is one line at the end of the file, and it has happened when the
//     line is on the disk. A line that a crash left half written is cut off when
//     the book is next opened: nobody was told that it was kept.
//   - A book is changed by one caller at a time, and a shelf has at most one
//     copy of a book in memory. Whoever reads has the entries as they were at
//     that moment; they are never changed afterwards.
//   - A file is written anew, whole, beside its place, when most of it is old
//     lines, and whenever something is to be forgotten: what was erased is not
//     in the file any more once the change has returned.
//   - Lines that cannot be read do not take the others with them. The file as
//     it was is put aside under another name, and the log says so.
//   - Numbers are never given twice in a book, also after what had them is gone.
//
// A shelf takes its folder to be its own: the process that holds the kernel's
// state is the only one that writes there.
package memstore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"time"
)

// Kind is what an entry is.
type Kind string

// The kinds. A session's book has goals, tasks and facts.
const (
	Goal      Kind = "goal"
	Task      Kind = "task"
	Fact      Kind = "fact"
	Knowledge Kind = "knowledge"
)

// Entry is one thing that is remembered. An entry that is in a book does not
// change; a change puts another in its place.
type Entry struct {
	ID      string    `json:"id"` // goal, t1, f1, k1: unique in its book
	Kind    Kind      `json:"kind"`
	Key     string    `json:"key,omitempty"` // what its writer calls it
	Text    string    `json:"text"`
	Detail  string    `json:"detail,omitempty"`
	Status  string    `json:"status,omitempty"`
	Tags    []string  `json:"tags,omitempty"`
	Seq     int64     `json:"seq"` // rises with each change of the book
	Made    time.Time `json:"made"`
	Changed time.Time `json:"changed"`
}

// Hash names the entry's text: the first half of its SHA-256, in hex.
func (e *Entry) Hash() string { return HashOf(e.Text) }

// HashOf is the hash that an entry of this text has.
func HashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// Number is the number in the entry's id; a goal has none.
func (e *Entry) Number() int {
	n, _ := strconv.Atoi(e.ID[min(1, len(e.ID)):])
	return n
}

// valid reports whether an entry read from a file is one that was written.
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

// idOf is the first letter of the kind and a number; there is only one goal.
func idOf(k Kind, n int) string {
	if k == Goal {
		return string(Goal)
	}
	return string(k[:1]) + strconv.Itoa(n)
}

// IsID reports whether a text could be the id of an entry.
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

// Of returns the entries of a kind, the one changed last at the end.
func Of(entries []*Entry, k Kind) []*Entry {
	var some []*Entry
	for _, e := range entries {
		if e.Kind == k {
			some = append(some, e)
		}
	}
	return some
}

// Tasks returns the tasks in the order they were made.
func Tasks(entries []*Entry) []*Entry {
	tasks := Of(entries, Task)
	slices.SortFunc(tasks, func(a, b *Entry) int { return cmp.Compare(a.Number(), b.Number()) })
	return tasks
}

// change is one line of a file: what goes, then what comes.
type change struct {
	Drop []string `json:"drop,omitempty"`
	Put  []*Entry `json:"put,omitempty"`
}

// Edit is a book while it is being changed. Nothing has happened until the
// function that was given it returns.
type Edit struct {
	Entries []*Entry // as the change leaves them; the one changed last at the end

	seq   int64
	last  map[Kind]int
	line  change
	waste int // about what the lines of replaced entries take
	erase bool
	now   time.Time
}

// Find returns the entry of an id, or nil.
func (d *Edit) Find(id string) *Entry {
	if i := d.index(id); i >= 0 {
		return d.Entries[i]
	}
	return nil
}

func (d *Edit) index(id string) int {
	return slices.IndexFunc(d.Entries, func(e *Entry) bool { return e.ID == id })
}

// Put writes an entry: a new one if it has no id, else in the place of the one
// that has it. What it returns is in the book.
func (d *Edit) Put(e Entry) *Entry {
	if e.ID == "" {
		if e.Kind != Goal {
			d.last[e.Kind]++
		}
		e.ID = idOf(e.Kind, d.last[e.Kind])
	}
	e.Made, e.Changed = d.now, d.now
	if i := d.index(e.ID); i >= 0 {
		e.Made = d.Entries[i].Made
		d.remove(i)
	}
	d.seq++
	e.Seq = d.seq
	d.Entries = append(d.Entries, &e)
	d.line.Put = append(slices.DeleteFunc(d.line.Put, func(old *Entry) bool { return old.ID == e.ID }), &e)
	return &e
}

// Drop takes an entry out, if it is there. Its text stays in the file until
// that is written anew.
func (d *Edit) Drop(id string) {
	i := d.index(id)
	if i < 0 {
		return
	}
	d.remove(i)
	d.line.Put = slices.DeleteFunc(d.line.Put, func(e *Entry) bool { return e.ID == id })
	d.line.Drop = append(d.line.Drop, id)
}

func (d *Edit) remove(i int) {
	d.waste += weight(d.Entries[i])
	d.Entries = slices.Delete(d.Entries, i, i+1)
}

// Erase takes an entry out of the book and of its file.
func (d *Edit) Erase(id string) {
	d.erase = true
	d.Drop(id)
}

func (d *Edit) changed() bool { return len(d.line.Put)+len(d.line.Drop) > 0 }

// weight is about what an entry takes in the file.
func weight(e *Entry) int {
	return len(e.Text) + len(e.Detail) + len(e.Key) + 200
}

// Weight is about what entries take in a file.
func Weight(entries []*Entry) int {
	n := 0
	for _, e := range entries {
		n += weight(e)
	}
	return n
}
