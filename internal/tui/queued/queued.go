// Package queued is what the user said while a turn runs and the model was not told
// yet.
//
// # Law
//
// Words are in exactly one place: here, in the conversation, or given back to the
// user. The kernel says where: it accepts them under an ID, and then the turn takes
// them or gives them back. Either may be heard before the acceptance.
package queued

import (
	"slices"

	"callgate/internal/tui/termtext"
)

// Item is what the user said at once. Shown is how it stood in the composer.
type Item struct {
	Shown string
	id    int64 // the kernel's; 0: it has not accepted it yet
}

// List is what waits, the oldest first. The zero value is empty.
type List struct {
	items []*Item
	early map[int64]bool // taken or given back before the acceptance was heard
}

// Add adds words that are being sent.
func (l *List) Add(shown string) *Item {
	it := &Item{Shown: shown}
	l.items = append(l.items, it)
	return it
}

// Accept takes the kernel's ID for an item.
func (l *List) Accept(it *Item, id int64) {
	it.id = id
	if l.early[id] {
		delete(l.early, id)
		l.Remove(it)
	}
}

// Take removes the item with an ID, and returns it. If the acceptance was not heard
// yet, it returns the oldest that has none: words are taken in their order.
func (l *List) Take(id int64) *Item {
	at := slices.IndexFunc(l.items, func(it *Item) bool { return it.id == id })
	if at < 0 {
		if at = slices.IndexFunc(l.items, func(it *Item) bool { return it.id == 0 }); at < 0 {
			return nil
		}
		if l.early == nil {
			l.early = map[int64]bool{}
		}
		l.early[id] = true
	}
	it := l.items[at]
	l.items = slices.Delete(l.items, at, at+1)
	return it
}

// Remove removes an item, and reports whether it was there.
func (l *List) Remove(it *Item) bool {
	at := slices.Index(l.items, it)
	if at < 0 {
		return false
	}
	l.items = slices.Delete(l.items, at, at+1)
	return true
}

// Empty reports whether nothing waits.
func (l *List) Empty() bool { return len(l.items) == 0 }

// TakeAll empties the list.
func (l *List) TakeAll() []*Item {
	all := l.items
	l.items, l.early = nil, nil
	return all
}

// Rows shows what waits, in at most limit rows.
func (l *List) Rows(width, limit int) []string {
	var rows []string
	for i, it := range l.items {
		line := "queued: " + termtext.OneLine(it.Shown)
		if i == len(l.items)-1 {
			line += "  (up takes it back)"
		}
		rows = append(rows, termtext.Faint(termtext.Truncate(line, width)))
	}
	if over := len(rows) - limit; over > 0 {
		rows = rows[over:]
	}
	return rows
}
