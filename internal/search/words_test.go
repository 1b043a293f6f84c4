package search_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"callgate/internal/search"
	"callgate/tool"

	"github.com/google/go-cmp/cmp"
)

// synced is an index of tools with words in a folder.
func synced(t *testing.T, folder string, tools []*tool.Tool) *search.Index {
	t.Helper()
	x := search.New(search.Options{Cache: folder})
	if err := x.Sync(t.Context(), tools); err != nil {
		t.Fatal(err)
	}
	return x
}

func closed(t *testing.T, x *search.Index) {
	t.Helper()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// answersLike compares what an index finds with what a new one without a cache finds.
func answersLike(t *testing.T, x *search.Index, tools []*tool.Tool) {
	t.Helper()
	c, plain := catalog(t, x, tools), catalog(t, search.New(search.Options{}), tools)
	for _, q := range append(queries, "kuberntes", "weather forecast", "wetter", "send mail") {
		r := search.Request{Queries: []string{q}, Limit: 30}
		if want, got := find(t, plain, r), find(t, c, r); !reflect.DeepEqual(want, got) {
			t.Fatalf("%s: %s", q, cmp.Diff(want, got))
		}
	}
}

// An index of the file's words answers as one that read the tools, and reads only those that the file
// does not have.
func TestWordsAreKept(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	tools := variations(fixture(), 3000)
	first := tools[:2600]
	closed(t, synced(t, folder, first))

	again := synced(t, folder, first)
	if n := again.NotKept(); n != 0 {
		t.Errorf("%d tools were read again", n)
	}
	answersLike(t, again, first)
	closed(t, again)

	// Some are gone, one changed, some are new; then they change once more.
	changed := *tools[700]
	changed.Spec.Description += " and waters the plants"
	now := append(append([]*tool.Tool{&changed}, tools[200:700]...), tools[701:2650]...)
	x := synced(t, folder, now)
	if n := x.NotKept(); n != 51 {
		t.Errorf("%d tools were read, not the 51 that are new", n)
	}
	answersLike(t, x, now)
	if err := x.Sync(t.Context(), tools[900:]); err != nil {
		t.Fatal(err)
	}
	answersLike(t, x, tools[900:])
	closed(t, x)

	// A catalog without a sync holds its own tools and no others of the file.
	x = search.New(search.Options{Cache: folder})
	answersLike(t, x, tools[900:])
	if n := x.NotKept(); n != 0 {
		t.Errorf("%d tools were read again", n)
	}
	closed(t, x)
}

// Whatever the file is, the answers are the same, and it is written again.
func TestWordsThatAreDamagedAreReadAgain(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "words.idx")
	tools := variations(fixture(), 2200)
	closed(t, synced(t, folder, tools))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"cut":     whole[:len(whole)/2],
		"changed": append(append([]byte(nil), whole[:len(whole)/3]...), make([]byte, len(whole)-len(whole)/3)...),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		x := synced(t, folder, tools)
		answersLike(t, x, tools)
		closed(t, x)
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, whole) {
			t.Errorf("%s: the file was not written again: %d bytes, %v", name, len(now), err)
		}
	}
	closed(t, synced(t, folder, variations(fixture(), 2300)[50:])) // and other tools' words are no loss
	other := variations(fixture()[:3], 2100)
	answersLike(t, synced(t, folder, other), other)
}

// A few tools have no file, and a folder that cannot be written is no failure.
func TestWordsThatAreNotKept(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	closed(t, synced(t, folder, fixture()))
	if found, err := os.ReadDir(folder); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
	notFolder := filepath.Join(folder, "file")
	if err := os.WriteFile(notFolder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tools := variations(fixture(), 2100)
	x := synced(t, notFolder, tools)
	answersLike(t, x, tools)
	closed(t, x)
}
