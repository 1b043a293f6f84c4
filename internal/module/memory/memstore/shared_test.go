package memstore_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/document"
	"callgate/internal/module/memory/memstore"
	"callgate/tool"
)

// sharing is a store over documents in which one app is shared.
func sharing(docs document.Store) *memstore.Store {
	s := memstore.Open(docs, "", nil)
	s.Shared = func(app string) (bool, error) { return app == know.App, nil }
	return s
}

func texts(entries []*memstore.Entry) (all []string) {
	for _, e := range entries {
		all = append(all, e.ID+" "+e.Key+": "+e.Text)
	}
	slices.Sort(all)
	return all
}

// What a node kept of an app for itself is there when the app is shared, with its IDs and times, and only there.
func TestAppBecomesShared(t *testing.T) {
	docs := openDocuments(t, t.TempDir())
	own := memstore.Open(docs, "", nil)
	put(t, own, mine, memstore.Entry{Kind: memstore.Goal, Text: "the goal"})
	put(t, own, mine, memstore.Entry{Kind: memstore.Fact, Text: "one"})
	put(t, own, know, memstore.Entry{Kind: memstore.Knowledge, Key: "door", Text: "4711"})
	dropped := put(t, own, know, memstore.Entry{Kind: memstore.Knowledge, Key: "gone", Text: "x"})
	check(t, own.Change(t.Context(), know, func(d *memstore.Edit) error { d.Drop(dropped.ID); return nil }))
	before := [][]string{texts(read(t, own, mine)), texts(read(t, own, know))}
	changed := read(t, own, mine)[0].Changed

	s := sharing(docs)
	if got, err := s.Sessions(t.Context(), mine.User, mine.App, "none", 10); err != nil || !slices.Equal(got, []string{"s1"}) {
		t.Errorf("the sessions are %v, %v", got, err)
	}
	if diff := cmp.Diff(before, [][]string{texts(read(t, s, mine)), texts(read(t, s, know))}); diff != "" {
		t.Error(diff)
	}
	if at := read(t, s, mine)[0].Changed; !at.Equal(changed) {
		t.Errorf("it was changed at %s, and then at %s", changed, at)
	}
	if made := put(t, s, know, memstore.Entry{Kind: memstore.Knowledge, Key: "new", Text: "y"}); made.ID != "k3" {
		t.Errorf("the next entry is %s", made.ID)
	}
	if left := len(read(t, memstore.Open(docs, "", nil), mine)) + len(read(t, memstore.Open(docs, "", nil), know)); left != 0 {
		t.Errorf("%d entries are there twice", left)
	}
	check(t, s.Delete(t.Context(), know))
	if left := read(t, sharing(docs), know); len(left) != 0 {
		t.Errorf("after the deletion there are %v", texts(left))
	}
}

// Where both have something, all of it stays.
func TestMemoriesOfTwoNodesAreMerged(t *testing.T) {
	docs := openDocuments(t, t.TempDir())
	own, s := memstore.Open(docs, "", nil), sharing(docs)
	for _, one := range []struct {
		in         *memstore.Store
		key, texts string
	}{
		{s, "door", "4711"}, {s, "same", "text"}, {s, "door-2", "taken"},
		{own, "door", "1234"}, {own, "same", "text"}, {own, "lamp", "green"},
	} {
		put(t, one.in, know, memstore.Entry{Kind: memstore.Knowledge, Key: one.key, Text: one.texts})
	}
	put(t, s, mine, memstore.Entry{Kind: memstore.Goal, Text: "a goal"})
	put(t, own, mine, memstore.Entry{Kind: memstore.Goal, Text: "another goal"})
	want := []string{"k1 door: 4711", "k2 same: text", "k3 door-2: taken", "k4 door-3: 1234", "k5 lamp: green"}
	s = sharing(docs) // as the next process
	if diff := cmp.Diff(want, texts(read(t, s, know))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"f1 : another goal", "goal : a goal"}, texts(read(t, s, mine))); diff != "" {
		t.Error(diff)
	}
}

// Two kernels that find what one of them kept take it over once, however much it is.
func TestTakenOverOnce(t *testing.T) {
	docs := openDocuments(t, t.TempDir())
	const n = 5_500 // more than one write takes
	own := memstore.Open(docs, "", nil)
	check(t, own.Change(t.Context(), know, func(d *memstore.Edit) error {
		for i := range n {
			d.Put(memstore.Entry{Kind: memstore.Knowledge, Key: fmt.Sprint("key", i), Text: "x"})
		}
		return nil
	}))
	var wg sync.WaitGroup
	for range 2 {
		s := sharing(docs)
		wg.Go(func() {
			if got := read(t, s, know); len(got) != n || got[0].ID != "k1" {
				t.Errorf("%d entries, the first is %s", len(got), got[0].ID)
			}
		})
	}
	wg.Wait()
}

// Where it cannot be found out whether an app is shared, nothing is remembered in the wrong place.
func TestUnknownWhetherShared(t *testing.T) {
	docs := openDocuments(t, t.TempDir())
	s := memstore.Open(docs, "", nil)
	s.Shared = func(string) (bool, error) { return false, errors.New("no database") }
	if _, err := s.Read(t.Context(), mine); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("reading: %v", err)
	}
	if _, err := s.Sessions(t.Context(), "ada", "engine", "", 1); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("listing: %v", err)
	}
}
