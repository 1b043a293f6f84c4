package memstore_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/document"
	"callgate/internal/module/memory/memstore"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

var (
	mine = memstore.Key{User: "ada", App: "engine", Session: "s1"}
	know = memstore.Key{User: "ada", App: "engine", Knowledge: true}
)

// writer names the environment variable of the process that is killed.
const writer = "CALLGATE_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writer); dir != "" {
		write(dir)
	}
	os.Exit(m.Run())
}

// write stores facts until the process is killed, and prints the ID of each when it
// is stored.
func write(dir string) {
	db, err := sqlite.Open(context.Background(), filepath.Join(dir, "state.db"))
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	store := memstore.Open(db.Stores().Documents, "", nil)
	for i := 0; ; i++ {
		var id string
		err := store.Change(context.Background(), mine, func(d *memstore.Edit) error {
			id = d.Put(memstore.Entry{Kind: memstore.Fact, Text: fmt.Sprint("fact ", i)}).ID
			if i%7 == 6 {
				d.Drop(fmt.Sprint("f", i-2))
			}
			return nil
		})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(id)
	}
}

// What was reported as stored is there after the process was killed.
func TestKilled(t *testing.T) {
	for round := range 5 {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), writer+"="+dir)
		out, err := cmd.StdoutPipe()
		check(t, err)
		check(t, cmd.Start())
		lines := bufio.NewScanner(out)
		last := 0
		for last < 20+13*round && lines.Scan() {
			if _, err := fmt.Sscanf(lines.Text(), "f%d", &last); err != nil {
				t.Fatalf("the writer printed %q", lines.Text())
			}
		}
		check(t, cmd.Process.Kill())
		for lines.Scan() { // what it printed before its end
			_, _ = fmt.Sscanf(lines.Text(), "f%d", &last)
		}
		_ = cmd.Wait()
		entries := read(t, open(t, dir), mine)
		kept := map[string]bool{}
		for _, e := range entries {
			kept[e.ID] = true
		}
		for n := 1; n <= last; n++ {
			// The change that put f(n+3) erased fn, for every seventh.
			id, seventh := fmt.Sprint("f", n), (n+2)%7 == 6
			if !seventh && !kept[id] {
				t.Errorf("round %d: %s of %d was reported as stored, and is not", round, id, last)
			}
			if seventh && n+3 <= last && kept[id] {
				t.Errorf("round %d: %s of %d was reported as erased, and is not", round, id, last)
			}
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openDocuments opens the documents of a folder, which several may do at once.
func openDocuments(t testing.TB, dir string) document.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "state.db"))
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	return db.Stores().Documents
}

// open opens the memory of a folder, as a new kernel would.
func open(t testing.TB, dir string) *memstore.Store {
	t.Helper()
	return memstore.Open(openDocuments(t, dir), filepath.Join(dir, "old"), nil)
}

func put(t testing.TB, s *memstore.Store, n memstore.Key, e memstore.Entry) *memstore.Entry {
	t.Helper()
	var made *memstore.Entry
	check(t, s.Change(t.Context(), n, func(d *memstore.Edit) error { made = d.Put(e); return nil }))
	return made
}

func read(t testing.TB, s *memstore.Store, n memstore.Key) []*memstore.Entry {
	t.Helper()
	entries, err := s.Read(t.Context(), n)
	check(t, err)
	return entries
}

func ids(entries []*memstore.Entry) (all []string) {
	for _, e := range entries {
		all = append(all, e.ID)
	}
	return all
}

// holds reports whether a file of a folder holds a text.
func holds(t testing.TB, dir, text string) bool {
	t.Helper()
	found := false
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(text))
		return err
	}))
	return found
}

func TestEntriesSurvive(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, mine, memstore.Entry{Kind: memstore.Goal, Text: "the first"})
	put(t, s, mine, memstore.Entry{Kind: memstore.Task, Text: "one", Status: "pending"})
	put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "a <b> & \"c\"\nd", Tags: []string{"x"}})
	put(t, s, mine, memstore.Entry{Kind: memstore.Goal, Text: "the second"})
	check(t, s.Change(t.Context(), mine, func(d *memstore.Edit) error {
		d.Put(memstore.Entry{ID: "t1", Kind: memstore.Task, Text: "one", Detail: "more", Status: "completed"})
		d.Put(memstore.Entry{Kind: memstore.Task, Text: "two"})
		d.Drop("t2")
		d.Drop("f1")
		d.Put(memstore.Entry{ID: "f1", Kind: memstore.Fact, Text: "again"})
		return nil
	}))
	want := read(t, s, mine)
	if diff := cmp.Diff([]string{"goal", "t1", "f1"}, ids(want)); diff != "" {
		t.Fatal(diff)
	}
	check(t, s.Close())
	again := open(t, dir)
	if diff := cmp.Diff(want, read(t, again, mine)); diff != "" {
		t.Error(diff)
	}
	if e := put(t, again, mine, memstore.Entry{Kind: memstore.Task, Text: "three"}); e.ID != "t2" && e.ID != "t3" {
		t.Errorf("the next task is %s", e.ID)
	}
}

// Numbers are not used twice, even after their entries are gone.
func TestNumbersAreNotReused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for range 3 {
		put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "x"})
	}
	last := read(t, s, mine)[2].Seq
	check(t, s.Change(t.Context(), mine, func(d *memstore.Edit) error { d.Drop("f3"); return nil }))
	e := put(t, open(t, dir), mine, memstore.Entry{Kind: memstore.Fact, Text: "y"})
	if e.ID != "f4" || e.Seq <= last {
		t.Errorf("%s %d after %d", e.ID, e.Seq, last)
	}
}

func TestDroppedIsGoneFromTheDisk(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "a shameful thing"})
	put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "a fine thing"})
	if !holds(t, dir, "shameful") {
		t.Fatal("the text is in no file: the test proves nothing")
	}
	check(t, s.Change(t.Context(), mine, func(d *memstore.Edit) error { d.Drop("f1"); return nil }))
	if holds(t, dir, "shameful") || !holds(t, dir, "fine") {
		t.Error("a file holds what was dropped")
	}
}

// A change that fails changes nothing, and readers keep what they have.
func TestChangeIsWhole(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "one"})
	before := read(t, s, mine)
	no := errors.New("no")
	err := s.Change(t.Context(), mine, func(d *memstore.Edit) error {
		d.Put(memstore.Entry{Kind: memstore.Fact, Text: "two"})
		d.Drop("f1")
		return no
	})
	if !errors.Is(err, no) || len(read(t, s, mine)) != 1 {
		t.Errorf("%v, %v", err, ids(read(t, s, mine)))
	}
	put(t, s, mine, memstore.Entry{ID: "f1", Kind: memstore.Fact, Text: "changed"})
	if before[0].Text != "one" {
		t.Error("a reader's entry changed under it")
	}
}

// Replaced entries take no room.
func TestReplacedEntriesAreGone(t *testing.T) {
	dir := t.TempDir()
	docs := openDocuments(t, dir)
	s := memstore.Open(docs, "", nil)
	text := strings.Repeat("x", 1000)
	for i := range 100 {
		put(t, s, mine, memstore.Entry{ID: "goal", Kind: memstore.Goal, Text: fmt.Sprint(i, text)})
	}
	for collection, want := range map[string]int{"ada/engine": 1, "ada/engine/session/s1": 1} {
		if all, err := document.ListAll(t.Context(), docs, collection, ""); err != nil || len(all) != want {
			t.Errorf("%s has %d documents, %v", collection, len(all), err)
		}
	}
	if got := read(t, open(t, dir), mine); len(got) != 1 || !strings.HasPrefix(got[0].Text, "99x") {
		t.Errorf("%d entries", len(got))
	}
}

func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	const writers, each = 8, 15
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				n := mine
				if i%3 == 0 {
					n = know
				}
				if err := s.Change(t.Context(), n, func(d *memstore.Edit) error {
					d.Put(memstore.Entry{Kind: memstore.Fact, Text: fmt.Sprint(w, ".", i)})
					if i%5 == 4 {
						d.Drop(d.Entries[0].ID)
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
				if _, err := s.Read(t.Context(), mine); err != nil {
					t.Error(err)
				}
				if _, err := s.Sessions(t.Context(), "ada", "engine", "", 5); err != nil {
					t.Error(err)
				}
				s.EndSession("s1")
			}
		})
	}
	wg.Wait()
	check(t, s.Close())
	again := open(t, dir)
	total := len(read(t, again, mine)) + len(read(t, again, know))
	if want := writers * (each - 3); total != want {
		t.Errorf("%d entries are kept, want %d", total, want)
	}
	for _, n := range []memstore.Key{mine, know} {
		all := ids(read(t, again, n))
		slices.Sort(all)
		if len(slices.Compact(all)) != len(read(t, again, n)) {
			t.Errorf("two entries have one id in %v", n)
		}
	}
}

func TestSessions(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, key := range []memstore.Key{
		{User: "ada", App: "engine", Session: "one"}, {User: "ada", App: "engine", Session: "two"},
		{User: "ada", App: "engine", Session: "odd/../name\xff"}, {User: "ada", App: "engine"},
		{User: "ada", App: "other", Session: "elsewhere"}, {User: "eve", App: "engine", Session: "hers"},
	} {
		put(t, s, key, memstore.Entry{Kind: memstore.Fact, Text: "of " + key.Session})
	}
	put(t, s, know, memstore.Entry{Kind: memstore.Knowledge, Text: "x"})
	got, err := open(t, dir).Sessions(t.Context(), "ada", "engine", "two", 10)
	check(t, err)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"", "odd/../name\ufffd", "one"}, got); diff != "" {
		t.Error(diff)
	}
	for _, id := range got {
		if len(read(t, s, memstore.Key{User: "ada", App: "engine", Session: id})) != 1 {
			t.Errorf("the collection of %q cannot be read by its key", id)
		}
	}
	if got, err := s.Sessions(t.Context(), "ada", "engine", "two", 2); len(got) != 2 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := s.Sessions(t.Context(), "nobody", "", "", 2); got != nil || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A store has more collections than it holds in memory.
func TestManyCollections(t *testing.T) {
	s := open(t, t.TempDir())
	for i := range 70 {
		put(t, s, memstore.Key{Session: fmt.Sprint(i)}, memstore.Entry{Kind: memstore.Fact, Text: fmt.Sprint("of ", i)})
	}
	for i := range 70 {
		if got := read(t, s, memstore.Key{Session: fmt.Sprint(i)}); len(got) != 1 || got[0].Text != fmt.Sprint("of ", i) {
			t.Errorf("collection %d: %v", i, ids(got))
		}
	}
}

func TestClosed(t *testing.T) {
	s := open(t, t.TempDir())
	check(t, s.Close())
	if _, err := s.Read(t.Context(), mine); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("reading gave %v", err)
	}
	err := s.Change(t.Context(), mine, func(*memstore.Edit) error { return nil })
	if tool.KindOf(err) != tool.Unavailable {
		t.Errorf("writing gave %v", err)
	}
}

func BenchmarkChange(b *testing.B) {
	for _, size := range []int{0, 5_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := open(b, b.TempDir())
			check(b, s.Change(b.Context(), know, func(d *memstore.Edit) error {
				for i := range size {
					d.Put(memstore.Entry{Kind: memstore.Knowledge, Text: fmt.Sprint(i, strings.Repeat(" some words", 40))})
				}
				return nil
			}))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				put(b, s, know, memstore.Entry{ID: "k1", Kind: memstore.Knowledge, Text: fmt.Sprint("changed ", i)})
			}
		})
	}
}

func BenchmarkOpen5000(b *testing.B) {
	dir := b.TempDir()
	check(b, open(b, dir).Change(b.Context(), know, func(d *memstore.Edit) error {
		for i := range 5_000 {
			d.Put(memstore.Entry{Kind: memstore.Knowledge, Text: fmt.Sprint(i, strings.Repeat(" some words", 40))})
		}
		return nil
	}))
	b.ReportAllocs()
	for b.Loop() {
		read(b, open(b, dir), know)
	}
}
