package memstore

import (
	"context"
	"encoding/json"
	"strconv"

	"callgate/internal/document"
	"callgate/tool"
)

// # What is one at all nodes
//
// The collections of an app that is at several nodes are one for all of them. Nothing else changes: each use compares
// the copy in memory with the stored head, and of two changes one is repeated. What this node kept of such an app for
// itself before is taken over when it is next used, each collection by writes that add to the one and delete from the
// other at once: nothing is lost and nothing is there twice. Where both have something, all of it stays: of two entries
// of the knowledge with one key and different texts, the one that is taken over has the key with a number behind it.

// place finds out whether the collection of a key is one at all nodes.
func (s *Store) place(key Key) (Key, error) {
	key = key.valid()
	if s.Shared == nil {
		return key, nil
	}
	var err error
	if key.shared, err = s.Shared(key.App); err != nil {
		return key, s.failed(err, "memory.open", "it cannot be found out where the memory is", "try again")
	}
	return key, nil
}

// own is the key of what this node has for itself.
func (k Key) own() Key {
	k.shared = false
	return k
}

// adoptAll takes over everything that this node kept for itself of a user and an app.
func (s *Store) adoptAll(ctx context.Context, of Key) error {
	if !of.shared {
		return nil
	}
	heads, err := document.ListAll(ctx, s.docs, of.own().heads(), "")
	if err != nil {
		return err
	}
	for _, d := range heads {
		var h head
		if json.Unmarshal(d.Data, &h) != nil || h.Key.User != of.User || h.Key.App != of.App {
			continue
		}
		key := h.Key
		key.shared = true
		if err := s.adopt(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// The bounds of one write of what is taken over.
const (
	maxAdopted       = document.MaxChanges/2 - 10 // entries
	maxAdoptedWeight = 16 << 20                   // bytes
)

// adopt takes over what this node kept for itself of a collection that is one at all nodes.
func (s *Store) adopt(ctx context.Context, key Key) error {
	if _, err := s.docs.Get(ctx, key.own().heads(), key.head()); tool.KindOf(err) == tool.NotFound {
		return nil
	}
	for {
		left := 0
		_, err := document.Update(ctx, s.docs, func() (changes []document.Change, err error) {
			changes, left, err = s.nextAdoption(ctx, key)
			return changes, err
		})
		if err != nil || left == 0 {
			return err
		}
	}
}

// nextAdoption returns a write that takes over as much as one write may, and how many entries are left after it.
func (s *Store) nextAdoption(ctx context.Context, key Key) (changes []document.Change, left int, err error) {
	mine, err := s.load(ctx, key.own(), nil)
	if err != nil || mine.version == 0 {
		return nil, 0, err
	}
	all, err := s.load(ctx, key, nil)
	if err != nil {
		return nil, 0, err
	}
	edit, taken, size := adopting(all.edit()), 0, 0
	for _, e := range mine.entries {
		if size += weight(e); taken > 0 && (taken == maxAdopted || size > maxAdoptedWeight) {
			break
		}
		edit.add(*e)
		taken++
	}
	for kind, n := range mine.head.Last {
		edit.last[kind] = max(edit.last[kind], n)
	}
	next, changes, err := all.apply(edit.Edit)
	if err != nil {
		return nil, 0, err
	}
	if next.head.Changed = mine.head.Changed; all.version > 0 && all.head.Changed.After(mine.head.Changed) {
		next.head.Changed = all.head.Changed
	}
	head, err := next.headChange(all.version)
	if err != nil {
		return nil, 0, err
	}
	changes[0] = head[0]
	for _, e := range mine.entries[:taken] {
		changes = append(changes, document.Change{Collection: key.own().entries(), Key: e.ID, If: mine.versions[e.ID]})
	}
	// Each of these writes changes the head, as every change of a collection does.
	rest, err := mine.headChange(mine.version)
	if left = len(mine.entries) - taken; left == 0 {
		rest[0].Data = nil
	}
	return append(changes, rest...), left, err
}

// adoption is a change that adds entries of another collection.
type adoption struct {
	*Edit
	keys map[string]bool
	said map[said]bool
}

// said is what an entry says.
type said struct {
	kind              Kind
	key, text, detail string
}

func (e *Entry) said() said { return said{e.Kind, e.Key, e.Text, e.Detail} }

func adopting(e *Edit) *adoption {
	a := &adoption{e, map[string]bool{}, map[said]bool{}}
	for _, there := range e.Entries {
		a.keys[there.Key], a.said[there.said()] = true, true
	}
	return a
}

// add adds an entry with its times, unless there is one that says the same.
func (a *adoption) add(entry Entry) {
	if a.said[entry.said()] {
		return
	}
	made, changed := entry.Made, entry.Changed
	if key := entry.Key; key != "" {
		for n := 2; a.keys[entry.Key]; n++ {
			entry.Key = key + "-" + strconv.Itoa(n)
		}
		a.keys[entry.Key] = true
	}
	if a.Find(entry.ID) != nil { // another has the number, or is the only one of its kind
		if entry.ID = ""; entry.Kind.isSingle() {
			entry.Kind = Fact
		}
	}
	put := a.Put(entry)
	put.Made, put.Changed = made, changed
	a.last[put.Kind] = max(a.last[put.Kind], put.Number())
	a.said[put.said()] = true
}
