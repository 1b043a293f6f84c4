package memstore_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/memory/memstore"
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
// is stored. Some changes rewrite the file.
func write(dir string) {
	store := memstore.Open(dir, nil)
	for i := 0; ; i++ {
		var id string
		err := store.Change(mine, func(d *memstore.Edit) error {
			id = d.Put(memstore.Entry{Kind: memstore.Fact, Text: fmt.Sprint("fact ", i)}).ID
			if i%7 == 6 {
				d.Erase(fmt.Sprint("f", i-2))
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
		entries := read(t, memstore.Open(dir, nil), mine)
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

func put(t testing.TB, s *memstore.Store, n memstore.Key, e memstore.Entry) *memstore.Entry {
	t.Helper()
	var made *memstore.Entry
	check(t, s.Change(n, func(d *memstore.Edit) error { made = d.Put(e); return nil }))
	return made
}

func read(t testing.TB, s *memstore.Store, n memstore.Key) []*memstore.Entry {
	t.Helper()
	entries, err := s.Read(n)
	check(t, err)
	return entries
}

func ids(entries []*memstore.Entry) (all []string) {
	for _, e := range entries {
		all = append(all, e.ID)
	}
	return all
}

// file finds the only collection in a folder.
func file(t testing.TB, dir string) string {
	t.Helper()
	var found []string
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".jsonl") {
			found = append(found, path)
		}
		return err
	}))
	if len(found) != 1 {
		t.Fatalf("files %v", found)
	}
	return found[0]
}

func TestEntriesSurvive(t *testing.T) {
	dir := t.TempDir()
	s := memstore.Open(dir, nil)
	put(t, s, mine, memstore.Entry{Kind: memstore.Goal, Text: "the first"})
	put(t, s, mine, memstore.Entry{Kind: memstore.Task, Text: "one", Status: "pending"})
	put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "a <b> & \"c\"\nd", Tags: []string{"x"}})
	put(t, s, mine, memstore.Entry{Kind: memstore.Goal, Text: "the second"})
	check(t, s.Change(mine, func(d *memstore.Edit) error {
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
	again := memstore.Open(dir, nil)
	if diff := cmp.Diff(want, read(t, again, mine)); diff != "" {
		t.Error(diff)
	}
	if e := put(t, again, mine, memstore.Entry{Kind: memstore.Task, Text: "three"}); e.ID != "t2" && e.ID != "t3" {
		t.Errorf("the next task is %s", e.ID)
	}
}

// Numbers are not used twice, even after the file was rewritten.
func TestNumbersAreNotReused(t *testing.T) {
	dir := t.TempDir()
	s := memstore.Open(dir, nil)
	for range 3 {
		put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "x"})
	}
	last := read(t, s, mine)[2].Seq
	check(t, s.Change(mine, func(d *memstore.Edit) error { d.Erase("f3"); return nil }))
	e := put(t, memstore.Open(dir, nil), mine, memstore.Entry{Kind: memstore.Fact, Text: "y"})
	if e.ID != "f4" || e.Seq <= last {
		t.Errorf("%s %d after %d", e.ID, e.Seq, last)
	}
}

func TestErasedIsGoneFromTheDisk(t *testing.T) {
	dir := t.TempDir()
	s := memstore.Open(dir, nil)
	put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "a shameful thing"})
	put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "a fine thing"})
	check(t, s.Change(mine, func(d *memstore.Edit) error { d.Erase("f1"); return nil }))
	data, err := os.ReadFile(file(t, dir))
	check(t, err)
	if bytes.Contains(data, []byte("shameful")) || !bytes.Contains(data, []byte("fine")) {
		t.Errorf("the file holds %s", data)
	}
}

// A change that fails changes nothing, and readers keep what they have.
func TestChangeIsWhole(t *testing.T) {
	s := memstore.Open(t.TempDir(), nil)
	put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "one"})
	before := read(t, s, mine)
	no := errors.New("no")
	err := s.Change(mine, func(d *memstore.Edit) error {
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

func TestFileStaysSmall(t *testing.T) {
	dir := t.TempDir()
	s := memstore.Open(dir, nil)
	text := strings.Repeat("x", 1000)
	for i := range 1000 {
		put(t, s, mine, memstore.Entry{ID: "goal", Kind: memstore.Goal, Text: fmt.Sprint(i, text)})
	}
	info, err := os.Stat(file(t, dir))
	check(t, err)
	if info.Size() > 200<<10 {
		t.Errorf("one entry takes %d bytes", info.Size())
	}
	if got := read(t, memstore.Open(dir, nil), mine); len(got) != 1 || !strings.HasPrefix(got[0].Text, "999x") {
		t.Errorf("%d entries", len(got))
	}
}

// Of a damaged file, what can be read stays, and so does the file under another name.
func TestDamage(t *testing.T) {
	whole := func(data []byte) []byte { return data }
	replace := func(old, new string) func([]byte) []byte {
		return func(data []byte) []byte { return bytes.Replace(data, []byte(old), []byte(new), 1) }
	}
	for name, c := range map[string]struct {
		spoil   func(data []byte) []byte
		want    []string
		renamed bool
	}{
		"not at all":        {whole, []string{"f1", "f2", "f3"}, false},
		"a torn end":        {func(d []byte) []byte { return d[:len(d)-9] }, []string{"f1", "f2"}, false},
		"half a line more":  {func(d []byte) []byte { return append(d, `{"put":[{"id"`...) }, []string{"f1", "f2", "f3"}, false},
		"zeros at the end":  {func(d []byte) []byte { return append(d, make([]byte, 100)...) }, []string{"f1", "f2", "f3"}, false},
		"a line of rubbish": {replace(`{"put":[{"id":"f2"`, `rubbish`), []string{"f1", "f3"}, true},
		"a false entry":     {replace(`"id":"f2"`, `"id":"x2"`), []string{"f1", "f3"}, true},
		"another user's":    {replace("ada", "eve"), nil, true},
		"no first line":     {func(d []byte) []byte { return append([]byte("?"), d...) }, []string{"f1", "f2", "f3"}, true},
		"empty":             {func([]byte) []byte { return nil }, nil, true},
		"not text":          {func([]byte) []byte { return []byte{0xff, 0xfe, 0} }, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := memstore.Open(dir, nil)
			for i := range 3 {
				put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: fmt.Sprint("fact ", i)})
			}
			path := file(t, dir)
			data, err := os.ReadFile(path)
			check(t, err)
			check(t, os.WriteFile(path, c.spoil(bytes.Clone(data)), 0o600))

			var log bytes.Buffer
			s = memstore.Open(dir, slog.New(slog.NewTextHandler(&log, nil)))
			if diff := cmp.Diff(c.want, ids(read(t, s, mine))); diff != "" {
				t.Error(diff)
			}
			put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "after"})
			if got := read(t, memstore.Open(dir, nil), mine); len(got) != len(c.want)+1 {
				t.Errorf("after a change there are %v", ids(got))
			}
			renamed, _ := filepath.Glob(path + ".damaged-*")
			if (len(renamed) == 1) != c.renamed || (log.Len() > 0) != (name != "not at all") {
				t.Errorf("renamed: %v; the log says %q", renamed, log.String())
			}
		})
	}
}

// A file that was deleted from outside is written again from memory.
func TestFileDeleted(t *testing.T) {
	dir := t.TempDir()
	s := memstore.Open(dir, nil)
	put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "one"})
	check(t, os.RemoveAll(filepath.Dir(file(t, dir))))
	put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "two"})
	if got := read(t, memstore.Open(dir, nil), mine); len(got) != 2 {
		t.Errorf("%v", ids(got))
	}
}

func TestDiskFails(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "a file")
	check(t, os.WriteFile(blocked, nil, 0o600))
	err := memstore.Open(blocked, nil).Change(mine, func(d *memstore.Edit) error {
		d.Put(memstore.Entry{Kind: memstore.Fact, Text: "one"})
		return nil
	})
	if tool.KindOf(err) != tool.Unavailable || strings.Contains(err.Error(), dir) {
		t.Errorf("error %v", err)
	}
}

func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	s := memstore.Open(dir, nil)
	const writers, each = 8, 15
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				n := mine
				if i%3 == 0 {
					n = know
				}
				if err := s.Change(n, func(d *memstore.Edit) error {
					d.Put(memstore.Entry{Kind: memstore.Fact, Text: fmt.Sprint(w, ".", i)})
					if i%5 == 4 {
						d.Erase(d.Entries[0].ID)
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
				if _, err := s.Read(mine); err != nil {
					t.Error(err)
				}
				if _, err := s.Sessions("ada", "engine", "", 5); err != nil {
					t.Error(err)
				}
				s.EndSession("s1")
			}
		})
	}
	wg.Wait()
	check(t, s.Close())
	again := memstore.Open(dir, nil)
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
	s := memstore.Open(dir, nil)
	for _, key := range []memstore.Key{
		{User: "ada", App: "engine", Session: "one"}, {User: "ada", App: "engine", Session: "two"},
		{User: "ada", App: "engine", Session: "odd/../name\xff"}, {User: "ada", App: "engine"},
		{User: "ada", App: "other", Session: "elsewhere"}, {User: "eve", App: "engine", Session: "hers"},
	} {
		put(t, s, key, memstore.Entry{Kind: memstore.Fact, Text: "of " + key.Session})
	}
	put(t, s, know, memstore.Entry{Kind: memstore.Knowledge, Text: "x"})
	got, err := memstore.Open(dir, nil).Sessions("ada", "engine", "two", 10)
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
	if got, err := s.Sessions("ada", "engine", "two", 2); len(got) != 2 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := s.Sessions("nobody", "", "", 2); got != nil || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A store has more collections than it holds in memory.
func TestManyCollections(t *testing.T) {
	s := memstore.Open(t.TempDir(), nil)
	for i := range 70 {
		put(t, s, memstore.Key{Session: fmt.Sprint(i)}, memstore.Entry{Kind: memstore.Fact, Text: fmt.Sprint("of ", i)})
	}
	for i := range 70 {
		if got := read(t, s, memstore.Key{Session: fmt.Sprint(i)}); len(got) != 1 || got[0].Text != fmt.Sprint("of ", i) {
			t.Errorf("collection %d: %v", i, ids(got))
		}
	}
}

// The sessions that were changed longest ago are deleted.
func TestOldSessionsAreDeleted(t *testing.T) {
	dir := t.TempDir()
	s := memstore.Open(dir, nil)
	put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "first"})
	folder := filepath.Dir(file(t, dir))
	for i := range 1_000 {
		path := filepath.Join(folder, fmt.Sprintf("%04d.jsonl", i))
		check(t, os.WriteFile(path, nil, 0o600))
		old := time.Now().Add(time.Duration(i-2_000) * time.Hour)
		check(t, os.Chtimes(path, old, old))
	}
	second := memstore.Key{User: "ada", App: "engine", Session: "s2"}
	put(t, s, second, memstore.Entry{Kind: memstore.Fact, Text: "second"})
	left, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	check(t, err)
	has := func(name string) bool { return slices.Contains(left, filepath.Join(folder, name)) }
	if len(left) != 1_000 || has("0001.jsonl") || !has("0002.jsonl") {
		t.Errorf("%d files are left, from %s on", len(left), left[0])
	}
	again := memstore.Open(dir, nil)
	if len(read(t, again, mine)) != 1 || len(read(t, again, second)) != 1 {
		t.Error("a recent session was deleted")
	}
}

func TestClosed(t *testing.T) {
	s := memstore.Open(t.TempDir(), nil)
	check(t, s.Close())
	if _, err := s.Read(mine); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("reading gave %v", err)
	}
	if err := s.Change(mine, func(*memstore.Edit) error { return nil }); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("writing gave %v", err)
	}
}

func BenchmarkChange(b *testing.B) {
	for _, size := range []int{0, 5_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := memstore.Open(b.TempDir(), nil)
			check(b, s.Change(know, func(d *memstore.Edit) error {
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
	check(b, memstore.Open(dir, nil).Change(know, func(d *memstore.Edit) error {
		for i := range 5_000 {
			d.Put(memstore.Entry{Kind: memstore.Knowledge, Text: fmt.Sprint(i, strings.Repeat(" some words", 40))})
		}
		return nil
	}))
	b.ReportAllocs()
	for b.Loop() {
		read(b, memstore.Open(dir, nil), know)
	}
}
