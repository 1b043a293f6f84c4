package memstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
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

// stored is one collection of testdata/memory, as the version that wrote the
// files read it.
type stored struct {
	Key     memstore.Key
	Entries []*memstore.Entry
}

func oldMemory(t testing.TB) (all []stored) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "memory.json"))
	check(t, err)
	check(t, json.Unmarshal(data, &all))
	if len(all) < 5 {
		t.Fatalf("only %d collections", len(all))
	}
	return all
}

// oldFolder is a folder with the files of an earlier version.
func oldFolder(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "memory")
	check(t, os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "memory"))))
	return folder
}

func expectOld(t testing.TB, s *memstore.Store) {
	t.Helper()
	for _, c := range oldMemory(t) {
		if diff := cmp.Diff(c.Entries, read(t, s, c.Key)); diff != "" {
			t.Errorf("%+v: %s", c.Key, diff)
		}
	}
}

// files lists the files of a folder.
func files(t testing.TB, folder string) (all []string) {
	t.Helper()
	check(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil && !d.IsDir() {
			all = append(all, path)
		}
		return err
	}))
	return all
}

// Two files of testdata/memory are damaged.
const (
	damagedFile = "41f0c27c00e8018f7715b5f5.jsonl" // a line of it cannot be read
	tornFile    = "00cc10cc5ab0a89fbf4d84a2.jsonl" // its last line is incomplete
)

// expectDamagedLeft expects that nothing is left in a folder but the damaged
// file, under its new name.
func expectDamagedLeft(t testing.TB, folder string) {
	t.Helper()
	if left := files(t, folder); len(left) != 1 || !strings.Contains(left[0], damagedFile+".damaged-") {
		t.Errorf("left are %v", left)
	}
}

func TestImport(t *testing.T) {
	folder, docs := oldFolder(t), openDocuments(t, t.TempDir())
	var log bytes.Buffer
	s := memstore.Open(docs, folder, slog.New(slog.NewTextHandler(&log, nil)))
	expectOld(t, s)
	expectDamagedLeft(t, folder)
	for _, name := range []string{damagedFile, tornFile} {
		if strings.Count(log.String(), name) != 1 {
			t.Errorf("the log says %s", log.String())
		}
	}
	expectOld(t, memstore.Open(docs, "", nil))
	// Numbers go on: f2 was dropped, and k2 before the file was last rewritten.
	if made := put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "x"}); made.ID != "f3" || made.Seq != 7 {
		t.Errorf("the next fact is %s with number %d", made.ID, made.Seq)
	}
	if made := put(t, s, know, memstore.Entry{Kind: memstore.Knowledge, Text: "x"}); made.ID != "k4" || made.Seq != 4 {
		t.Errorf("the next knowledge is %s with number %d", made.ID, made.Seq)
	}
}

// The sessions of an earlier version are listed in the order of their files, and
// before new ones.
func TestImportedSessions(t *testing.T) {
	folder := oldFolder(t)
	var sessions []string
	for i, c := range oldMemory(t) {
		if c.Key.User != "ada" || c.Key.App != "engine" || c.Key.Knowledge {
			continue
		}
		sessions = append([]string{c.Key.Session}, sessions...)
		changed := time.Now().Add(time.Duration(i-100) * time.Hour)
		check(t, os.Chtimes(oldFile(t, folder, c.Key), changed, changed))
	}
	s := memstore.Open(openDocuments(t, t.TempDir()), folder, nil)
	put(t, s, memstore.Key{User: "ada", App: "engine", Session: "new"}, memstore.Entry{Kind: memstore.Fact, Text: "x"})
	got, err := s.Sessions(t.Context(), "ada", "engine", "none", 20)
	check(t, err)
	if diff := cmp.Diff(append([]string{"new"}, sessions...), got); diff != "" {
		t.Error(diff)
	}
}

// oldFile finds the file of a collection.
func oldFile(t testing.TB, folder string, key memstore.Key) string {
	t.Helper()
	name, err := json.Marshal(key)
	check(t, err)
	for _, path := range files(t, folder) {
		data, err := os.ReadFile(path)
		check(t, err)
		if bytes.Contains(data, append([]byte(`"book":`), name...)) {
			return path
		}
	}
	t.Fatalf("no file has %s", name)
	return ""
}

// crashing is a store of documents whose process dies, as far as the import can
// tell, at one of its writes: that one and all that follow fail, the first of
// them before or after it is done.
type crashing struct {
	document.Store
	left int  // writes before the crash
	done bool // the write of the crash is done
}

func (c *crashing) Write(ctx context.Context, changes ...document.Change) (int64, error) {
	c.left--
	if c.left >= 0 || c.left == -1 && c.done {
		if version, err := c.Store.Write(ctx, changes...); err != nil || c.left >= 0 {
			return version, err
		}
	}
	return 0, tool.Errorf("test", tool.Unavailable, "the process is gone")
}

// An import that ends at any moment loses nothing, and the next one finishes the
// work. Until then no collection of the user and the app can be used: its numbers
// would be given twice.
func TestInterruptedImport(t *testing.T) {
	for left := range 6 { // ada has six files for the engine
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("after %d writes, done %v", left, done), func(t *testing.T) {
				folder, docs := oldFolder(t), openDocuments(t, t.TempDir())
				interrupted := memstore.Open(&crashing{Store: docs, left: left, done: done}, folder, nil)
				if _, err := interrupted.Read(t.Context(), mine); tool.KindOf(err) != tool.Unavailable {
					t.Errorf("before the import is done: %v", err)
				}
				expectOld(t, memstore.Open(docs, folder, nil))
				expectDamagedLeft(t, folder)
			})
		}
	}
}

// A crash after a file was imported and before it was removed leaves the file. It
// is removed then, and takes the place of nothing that was changed since.
func TestImportIsNotRepeated(t *testing.T) {
	folder, docs := oldFolder(t), openDocuments(t, t.TempDir())
	s := memstore.Open(docs, folder, nil)
	check(t, s.Change(t.Context(), mine, func(d *memstore.Edit) error { d.Drop("f1"); return nil }))
	want := read(t, s, mine)
	check(t, os.RemoveAll(folder))
	check(t, os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "memory"))))
	if diff := cmp.Diff(want, read(t, memstore.Open(docs, folder, nil), mine)); diff != "" {
		t.Error(diff)
	}
	for _, path := range files(t, folder) {
		if strings.Contains(path, "878fc4d15bf2591d56c10b28") && !strings.Contains(path, damagedFile+".damaged-") {
			t.Errorf("%s is left", path)
		}
	}
}

// A file of a collection that came about elsewhere is left, and reported.
func TestImportBesideAnotherMemory(t *testing.T) {
	folder, docs := oldFolder(t), openDocuments(t, t.TempDir())
	put(t, memstore.Open(docs, "", nil), mine, memstore.Entry{Kind: memstore.Fact, Text: "of another kernel"})
	path := oldFile(t, folder, mine)
	var log bytes.Buffer
	s := memstore.Open(docs, folder, slog.New(slog.NewTextHandler(&log, nil)))
	if got := read(t, s, mine); len(got) != 1 || got[0].Text != "of another kernel" {
		t.Errorf("%v", ids(got))
	}
	if left := files(t, folder); !slices.Contains(left, path) || !strings.Contains(log.String(), "newer memory") {
		t.Errorf("left are %v; the log says %s", left, log.String())
	}
	check(t, s.Delete(t.Context(), mine))
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after the deletion the file is still there: %v", err)
	}
}

// A file that cannot be read is left. Its collection cannot be used, and the
// others can.
func TestImportOfAnUnreadableFile(t *testing.T) {
	folder := oldFolder(t)
	path := oldFile(t, folder, mine)
	check(t, os.Remove(path))
	check(t, os.Mkdir(path, 0o700)) // reading it fails for every user
	s := memstore.Open(openDocuments(t, t.TempDir()), folder, nil)
	if _, err := s.Read(t.Context(), mine); tool.KindOf(err) != tool.Unavailable || strings.Contains(err.Error(), folder) {
		t.Errorf("reading it gave %v", err)
	}
	if got := read(t, s, know); len(got) != 2 {
		t.Errorf("the knowledge is %v", ids(got))
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestTwoImports(t *testing.T) {
	folder, dir := oldFolder(t), t.TempDir()
	var wg sync.WaitGroup
	for range 2 {
		s := memstore.Open(openDocuments(t, dir), folder, nil)
		wg.Go(func() { expectOld(t, s) })
	}
	wg.Wait()
	expectDamagedLeft(t, folder)
}

// Of a damaged file, what can be read is imported, and the file stays under
// another name.
func TestImportOfDamage(t *testing.T) {
	const line = `{"put":[{"id":"f%d","kind":"fact","text":"fact","seq":%[1]d,` +
		`"made":"2026-01-01T00:00:00Z","changed":"2026-01-01T00:00:00Z"}]}` + "\n"
	text := `{"memory":1,"book":{"user":"ada","app":"engine","session":"s1"}}` + "\n" +
		fmt.Sprintf(line, 1) + fmt.Sprintf(line, 2) + fmt.Sprintf(line, 3)
	replace := func(old, new string) string { return strings.Replace(text, old, new, 1) }
	for name, c := range map[string]struct {
		text    string
		want    []string
		renamed bool
	}{
		"not at all":        {text, []string{"f1", "f2", "f3"}, false},
		"a torn end":        {text[:len(text)-9], []string{"f1", "f2"}, false},
		"half a line more":  {text + `{"put":[{"id"`, []string{"f1", "f2", "f3"}, false},
		"zeros at the end":  {text + strings.Repeat("\x00", 100), []string{"f1", "f2", "f3"}, false},
		"a line of rubbish": {replace(`{"put":[{"id":"f2"`, `rubbish`), []string{"f1", "f3"}, true},
		"a false entry":     {replace(`"id":"f2"`, `"id":"x2"`), []string{"f1", "f3"}, true},
		"another user's":    {replace("ada", "eve"), nil, true},
		"no first line":     {"?" + text, []string{"f1", "f2", "f3"}, true},
		"empty":             {"", nil, true},
		"not text":          {"\xff\xfe\x00", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			folder, docs := oldFolder(t), openDocuments(t, t.TempDir())
			path := oldFile(t, folder, mine)
			check(t, os.WriteFile(path, []byte(c.text), 0o600))
			var log bytes.Buffer
			s := memstore.Open(docs, folder, slog.New(slog.NewTextHandler(&log, nil)))
			if got := read(t, s, know); len(got) != 2 {
				t.Errorf("the knowledge is %v", ids(got))
			}
			if diff := cmp.Diff(c.want, ids(read(t, s, mine))); diff != "" {
				t.Error(diff)
			}
			put(t, s, mine, memstore.Entry{Kind: memstore.Fact, Text: "after"})
			if got := read(t, memstore.Open(docs, folder, nil), mine); len(got) != len(c.want)+1 {
				t.Errorf("after a change there are %v", ids(got))
			}
			renamed, _ := filepath.Glob(path + ".damaged-*")
			if (len(renamed) == 1) != c.renamed || strings.Contains(log.String(), path) != (name != "not at all") {
				t.Errorf("renamed: %v; the log says %q", renamed, log.String())
			}
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Errorf("the file is still there: %v", err)
			}
		})
	}
}
