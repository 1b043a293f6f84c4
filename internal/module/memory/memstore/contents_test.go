package memstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/document"
	"callgate/internal/module/memory/memstore"
	"callgate/tool"
)

// Of damaged documents, the others can be read, and new ones take their place.
func TestDamagedDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		collection, key, data string
		want                  []string
	}{
		"an entry":         {"ada/engine/session/s1", "f2", "rubbish", []string{"goal", "f1"}},
		"another's entry":  {"ada/engine/session/s1", "f2", `{"id":"f1","kind":"fact","seq":9}`, []string{"goal", "f1"}},
		"an unknown kind":  {"ada/engine/session/s1", "f2", `{"id":"f2","kind":"x","seq":3}`, []string{"goal", "f1"}},
		"an empty entry":   {"ada/engine/session/s1", "goal", "", []string{"f1", "f2"}},
		"the head":         {"ada/engine", "session/s1", "rubbish", []string{"goal", "f1", "f2"}},
		"the head's owner": {"ada/engine", "session/s1", `{"key":{"user":"eve"}}`, []string{"goal", "f1", "f2"}},
		"the head's number": {"ada/engine", "session/s1", `{"key":{"user":"ada","app":"engine","session":"s1"},"seq":-1}`,
			[]string{"goal", "f1", "f2"}},
	} {
		t.Run(name, func(t *testing.T) {
			docs := openDocuments(t, t.TempDir())
			s := memstore.Open(docs, "", nil)
			put(t, s, mine, memstore.Entry{Kind: memstore.Goal, Text: "the goal"})
			put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "one"})
			put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "two"})
			// The head is written too, as by any change of the collection.
			at := []document.Change{{Collection: c.collection, Key: c.key}, {Collection: "ada/engine", Key: "session/s1"}}
			if c.collection == "ada/engine" {
				at = at[:1]
			}
			for i, one := range at {
				doc, err := docs.Get(t.Context(), one.Collection, one.Key)
				check(t, err)
				at[i].If, at[i].Data = doc.Version, doc.Data
			}
			at[0].Data = []byte(c.data)
			_, err := docs.Write(t.Context(), at...)
			check(t, err)

			var log bytes.Buffer
			s = memstore.Open(docs, "", slog.New(slog.NewTextHandler(&log, nil)))
			if diff := cmp.Diff(c.want, ids(read(t, s, mine))); diff != "" || log.Len() == 0 {
				t.Error(diff, log.String())
			}
			put(t, s, mine, memstore.Entry{Kind: memstore.Goal, Text: "another goal"})
			if made := put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "three"}); made.ID != "f3" {
				t.Errorf("the next fact is %s", made.ID)
			}
			check(t, s.Delete(t.Context(), mine))
			if left := read(t, s, mine); len(left) != 0 {
				t.Errorf("after the deletion there are %v", ids(left))
			}
		})
	}
}

// Kernels that share documents see each other's changes, and lose none.
func TestSeveralKernels(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	put(t, a, mine, memstore.Entry{Kind: memstore.Fact, Text: "one"})
	put(t, b, mine, memstore.Entry{Kind: memstore.Fact, Text: "two"})
	put(t, a, mine, memstore.Entry{Kind: memstore.Fact, Text: "three"})
	if got := ids(read(t, b, mine)); !slices.Equal(got, []string{"f1", "f2", "f3"}) {
		t.Errorf("%v", got)
	}
	check(t, a.Delete(t.Context(), mine))
	if got := ids(read(t, b, mine)); len(got) != 0 {
		t.Errorf("after the deletion there are %v", got)
	}
	const each = 20
	var wg sync.WaitGroup
	for _, s := range []*memstore.Store{a, b} {
		wg.Go(func() {
			for range each {
				err := s.Change(t.Context(), know, func(d *memstore.Edit) error {
					d.Put(memstore.Entry{Kind: memstore.Knowledge, Text: "x"})
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := read(t, open(t, dir), know); len(got) != 2*each || got[2*each-1].Seq != 2*each {
		t.Errorf("%d entries, the last has number %d", len(got), got[len(got)-1].Seq)
	}
}

// broken is a store of documents whose disk fails.
type broken struct {
	document.Store
	reads bool
}

func (b broken) Get(ctx context.Context, collection, key string) (document.Document, error) {
	if b.reads {
		return b.Store.Get(ctx, collection, key)
	}
	return document.Document{}, &fs.PathError{Op: "read", Path: "/secret/place", Err: errors.New("no disk")}
}

func (broken) Write(context.Context, ...document.Change) (int64, error) {
	return 0, &fs.PathError{Op: "write", Path: "/secret/place", Err: errors.New("no disk")}
}

func TestDiskFails(t *testing.T) {
	docs := openDocuments(t, t.TempDir())
	for name, broken := range map[string]document.Store{
		"at once": broken{docs, false}, "when it is written": broken{docs, true}, "there is none": nil,
	} {
		err := memstore.Open(broken, "", nil).Change(t.Context(), mine, func(d *memstore.Edit) error {
			d.Put(memstore.Entry{Kind: memstore.Fact, Text: "one"})
			return nil
		})
		if tool.KindOf(err) != tool.Unavailable || strings.Contains(err.Error(), "place/") ||
			strings.Contains(err.Error(), "/secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := memstore.Open(docs, "", nil).Read(ctx, mine); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The sessions that were changed longest ago are deleted.
func TestOldSessionsAreDeleted(t *testing.T) {
	dir := t.TempDir()
	docs := openDocuments(t, dir)
	s := memstore.Open(docs, "", nil)
	put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "first"})
	var changes []document.Change
	for i := range 1_000 {
		id, old := fmt.Sprintf("%04d", i), time.Now().Add(time.Duration(i-2_000)*time.Hour).UTC()
		changes = append(changes,
			document.Change{Collection: "ada/engine", Key: "session/" + id, Data: fmt.Appendf(nil,
				`{"key":{"user":"ada","app":"engine","session":%q},"seq":1,"changed":%q}`, id, old.Format(time.RFC3339))},
			document.Change{Collection: "ada/engine/session/" + id, Key: "f1", Data: fmt.Appendf(nil,
				`{"id":"f1","kind":"fact","text":"old","seq":1,"made":"2026-01-01T00:00:00Z","changed":"2026-01-01T00:00:00Z"}`)})
	}
	_, err := docs.Write(t.Context(), changes...)
	check(t, err)
	second := memstore.Key{User: "ada", App: "engine", Session: "s2"}
	put(t, s, second, memstore.Entry{Kind: memstore.Fact, Text: "second"})
	left, err := s.Sessions(t.Context(), "ada", "engine", "none", 2_000)
	check(t, err)
	if len(left) != 1_000 || left[0] != "s2" || left[1] != "s1" || left[999] != "0002" {
		t.Errorf("%d sessions are left, the oldest is %s", len(left), left[len(left)-1])
	}
	for id, want := range map[string]int{"0000": 0, "0001": 0, "0002": 1} {
		all, err := document.ListAll(t.Context(), docs, "ada/engine/session/"+id, "")
		if err != nil || len(all) != want {
			t.Errorf("%s has %d entries, %v", id, len(all), err)
		}
	}
	again := open(t, dir)
	if len(read(t, again, mine)) != 1 || len(read(t, again, second)) != 1 {
		t.Error("a recent session was deleted")
	}
}
