package storagetest

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/document"
	"callgate/internal/storage"
	"callgate/tool"
)

// Documents tests a driver's document.Store.
func Documents(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, storage.Driver){
		"RoundTrip":    documentRoundTrip,
		"Expectations": documentExpectations,
		"AllOrNone":    writesAllOrNone,
		"Versions":     versionsNeverComeBack,
		"Lists":        listsDocuments,
		"Limits":       listsManyDocuments,
		"Largest":      largestWrite,
		"Refuses":      refusesBadWrites,
		"LostUpdates":  func(t *testing.T, d storage.Driver) { countUp(t, d, d) },
	})
	t.Run("Persists", func(t *testing.T) { documentsPersist(t, open) })
}

// put is a change that adds a document.
func put(key, data string) document.Change {
	return document.Change{Collection: "c", Key: key, Data: []byte(data)}
}

func mustWrite(t *testing.T, s document.Store, changes ...document.Change) int64 {
	t.Helper()
	version, err := s.Write(t.Context(), changes...)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

func documentRoundTrip(t *testing.T, d storage.Driver) {
	s := d.Stores().Documents
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, data := range [][]byte{every, {}, []byte("'; --"), bytes.Repeat(every, 4096)} {
		key := fmt.Sprintf("é '\" %d", len(data))
		before := time.Now().Add(-time.Minute)
		version := mustWrite(t, s, document.Change{Collection: "c/é", Key: key, Data: data})
		got, err := s.Get(t.Context(), "c/é", key)
		if err != nil {
			t.Fatal(err)
		}
		if got.Updated.Before(before) || got.Updated.After(time.Now().Add(time.Minute)) {
			t.Errorf("updated at %v", got.Updated)
		}
		got.Updated = time.Time{}
		want := document.Document{Collection: "c/é", Key: key, Version: version, Data: data}
		if diff := cmp.Diff(want, got, cmp.Comparer(bytes.Equal)); diff != "" || got.Data == nil {
			t.Error(diff)
		}
	}
	_, err := s.Get(t.Context(), "c/é", "none")
	isKind(t, "a key that is absent", err, tool.NotFound)
	_, err = s.Get(t.Context(), "c", "é '\" 0")
	isKind(t, "a collection that is absent", err, tool.NotFound)
}

// documentExpectations: a change is made if the document is as expected.
func documentExpectations(t *testing.T, d storage.Driver) {
	s := d.Stores().Documents
	v := mustWrite(t, s, put("a", "1"))
	for _, tt := range []struct {
		name   string
		change document.Change
		want   tool.Kind
	}{
		{"adding what is there", put("a", "2"), tool.Conflict},
		{"another version", document.Change{Collection: "c", Key: "a", If: v + 1, Data: []byte("2")}, tool.Conflict},
		{"deleting another version", document.Change{Collection: "c", Key: "a", If: v + 1}, tool.Conflict},
		{"expecting none where one is", document.Change{Collection: "c", Key: "a"}, tool.Conflict},
		{"changing what is absent", document.Change{Collection: "c", Key: "b", If: v, Data: []byte("2")}, tool.Conflict},
		{"deleting what is absent", document.Change{Collection: "c", Key: "b", If: v}, tool.Conflict},
		{"expecting none where none is", document.Change{Collection: "c", Key: "b"}, ""},
		{"nothing has changed so far", document.Change{Collection: "c", Key: "a", If: v, Data: []byte("2")}, ""},
	} {
		_, err := s.Write(t.Context(), tt.change)
		isKind(t, tt.name, err, tt.want)
	}
	got, err := s.Get(t.Context(), "c", "a")
	if err != nil || string(got.Data) != "2" || got.Version <= v {
		t.Fatalf("got %+v, %v", got, err)
	}
	mustWrite(t, s, document.Change{Collection: "c", Key: "a", If: got.Version})
	_, err = s.Get(t.Context(), "c", "a")
	isKind(t, "after deleting it", err, tool.NotFound)
}

func writesAllOrNone(t *testing.T, d storage.Driver) {
	s := d.Stores().Documents
	v := mustWrite(t, s, put("a", "1"), put("b", "1"))
	_, err := s.Write(t.Context(),
		document.Change{Collection: "c", Key: "a", If: v, Data: []byte("2")},
		put("new", "x"),
		document.Change{Collection: "c", Key: "b", If: v + 7})
	isKind(t, "one of three does not fit", err, tool.Conflict)
	list, err := s.List(t.Context(), "c", "", "", 10)
	if got := keysAndData(list); err != nil || got != "a=1 b=1" {
		t.Fatalf("after a refused write: %q, %v", got, err)
	}
	again := mustWrite(t, s,
		document.Change{Collection: "c", Key: "a", If: v, Data: []byte("2")},
		put("new", "x"),
		document.Change{Collection: "c", Key: "b", If: v})
	list, err = s.List(t.Context(), "c", "", "", 10)
	if got := keysAndData(list); err != nil || got != "a=2 new=x" {
		t.Fatalf("after the write: %q, %v", got, err)
	}
	for _, doc := range list {
		if doc.Version != again {
			t.Errorf("%s has version %d, want that of the write, %d", doc.Key, doc.Version, again)
		}
	}
	if version, err := s.Write(t.Context()); err != nil || version != 0 {
		t.Errorf("writing nothing: %d, %v", version, err)
	}
}

func keysAndData(list []document.Document) string {
	var parts []string
	for _, d := range list {
		parts = append(parts, d.Key+"="+string(d.Data))
	}
	return strings.Join(parts, " ")
}

// versionsNeverComeBack: who read a document that was deleted and made again
// does not take the new one for it.
func versionsNeverComeBack(t *testing.T, d storage.Driver) {
	s := d.Stores().Documents
	seen := map[int64]bool{}
	last := int64(0)
	for range 5 {
		v := mustWrite(t, s, put("a", "x"))
		if seen[v] || v <= last {
			t.Fatalf("version %d comes after %d", v, last)
		}
		seen[v], last = true, v
		mustWrite(t, s, document.Change{Collection: "c", Key: "a", If: v})
	}
}

func listsDocuments(t *testing.T, d storage.Driver) {
	s := d.Stores().Documents
	for _, key := range []string{"b/2", "a", "b/1", "b", "b0", "é", "b/", "b\u007f", "z"} {
		mustWrite(t, s, put(key, "x"))
	}
	mustWrite(t, s, document.Change{Collection: "other", Key: "b/3", Data: []byte("x")})
	for _, tt := range []struct {
		collection, prefix, after string
		limit                     int
		want                      []string
	}{
		{"c", "", "", 0, []string{"a", "b", "b/", "b/1", "b/2", "b0", "b\u007f", "z", "é"}},
		{"c", "b/", "", 0, []string{"b/", "b/1", "b/2"}},
		{"c", "b", "", 0, []string{"b", "b/", "b/1", "b/2", "b0", "b\u007f"}},
		{"c", "b\u007f", "", 0, []string{"b\u007f"}},
		{"c", "b", "b/1", 0, []string{"b/2", "b0", "b\u007f"}},
		{"c", "b/", "a", 2, []string{"b/", "b/1"}},
		{"c", "b/", "b/2", 0, nil},
		{"c", "", "a", 1, []string{"b"}},
		{"c", "\u00e9", "", 0, []string{"é"}},
		{"c", "x", "", 0, nil},
		{"c", "%", "", 0, nil},
		{"other", "", "", 0, []string{"b/3"}},
		{"none", "", "", 0, nil},
	} {
		list, err := s.List(t.Context(), tt.collection, tt.prefix, tt.after, tt.limit)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, doc := range list {
			keys = append(keys, doc.Key)
		}
		if diff := cmp.Diff(tt.want, keys); diff != "" {
			t.Errorf("%s, prefix %q, after %q: %s", tt.collection, tt.prefix, tt.after, diff)
		}
	}
}

func listsManyDocuments(t *testing.T, d storage.Driver) {
	s := d.Stores().Documents
	var changes []document.Change
	for n := range document.MaxList {
		changes = append(changes, put(fmt.Sprintf("%05d", n), "x"))
	}
	mustWrite(t, s, changes...)
	mustWrite(t, s, put("99999", "x"))
	for _, limit := range []int{0, -1, document.MaxList + 5} {
		if list, err := s.List(t.Context(), "c", "", "", limit); err != nil || len(list) != document.MaxList {
			t.Errorf("limit %d gives %d, %v", limit, len(list), err)
		}
	}
	if list, err := s.List(t.Context(), "c", "", "00999", 0); err != nil || len(list) != 1 || list[0].Key != "99999" {
		t.Errorf("the last page is %v, %v", list, err)
	}
}

// largestWrite: a store takes as many changes as Check allows.
func largestWrite(t *testing.T, d storage.Driver) {
	s := d.Stores().Documents
	changes := make([]document.Change, document.MaxChanges)
	for n := range changes {
		changes[n] = put(fmt.Sprintf("%05d", n), "x")
	}
	version := mustWrite(t, s, changes...)
	for n := range changes {
		changes[n].If, changes[n].Data = version, nil
	}
	mustWrite(t, s, changes...)
	if list, err := s.List(t.Context(), "c", "", "", 1); err != nil || len(list) != 0 {
		t.Errorf("left are %v, %v", list, err)
	}
}

func refusesBadWrites(t *testing.T, d storage.Driver) {
	s := d.Stores().Documents
	for name, c := range map[string]document.Change{
		"no key": put("", "x"), "a NUL": put("a\x00", "x"), "not UTF-8": put("\xff", "x"),
		"no collection":        {Key: "a", Data: []byte("x")},
		"a version below none": {Collection: "c", Key: "a", If: -1, Data: []byte("x")},
	} {
		_, err := s.Write(t.Context(), put("good", "x"), c)
		isKind(t, name, err, tool.Invalid)
	}
	if list, err := s.List(t.Context(), "c", "", "", 0); err != nil || len(list) != 0 {
		t.Errorf("refused writes left %v, %v", list, err)
	}
}

// countUp: writers that read, add one and write, and try again when somebody
// was faster, lose nothing.
func countUp(t *testing.T, a, b storage.Driver) {
	const writers, rounds = 4, 10
	mustWrite(t, a.Stores().Documents, put("n", "0"))
	var wg sync.WaitGroup
	for w := range writers {
		s := []storage.Driver{a, b}[w%2].Stores().Documents
		wg.Go(func() {
			for range rounds {
				for !addOne(t, s) {
				}
			}
		})
	}
	wg.Wait()
	got, err := b.Stores().Documents.Get(t.Context(), "c", "n")
	if err != nil || string(got.Data) != strconv.Itoa(writers*rounds) {
		t.Errorf("counted to %q, %v", got.Data, err)
	}
}

// addOne reports false when somebody was faster.
func addOne(t *testing.T, s document.Store) bool {
	doc, err := s.Get(context.Background(), "c", "n")
	if err != nil {
		t.Error(err)
		return true
	}
	n, _ := strconv.Atoi(string(doc.Data))
	next := document.Change{Collection: "c", Key: "n", If: doc.Version, Data: []byte(strconv.Itoa(n + 1))}
	_, err = s.Write(context.Background(), next)
	if err != nil && tool.KindOf(err) != tool.Conflict {
		t.Error(err)
		return true
	}
	return err == nil
}

func documentsPersist(t *testing.T, open Open) {
	var last int64
	reopen(t, open, func(t *testing.T, n int, d storage.Driver) {
		s := d.Stores().Documents
		if list, err := s.List(t.Context(), "c", "", "", 0); err != nil || len(list) != n {
			t.Errorf("start %d finds %d documents, %v", n, len(list), err)
		}
		v := mustWrite(t, s, put(fmt.Sprint(n), "x"), put("gone", "x"))
		if v <= last {
			t.Errorf("version %d comes after %d", v, last)
		}
		last = mustWrite(t, s, document.Change{Collection: "c", Key: "gone", If: v})
	})
}
