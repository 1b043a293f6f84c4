package recall_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/tui/recall"
)

func add(t *testing.T, f *recall.File, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := f.Add(text); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTextsAreKeptForTheirFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "state", "said")
	add(t, recall.Open(folder, "/w"), "one", "two\nlines", " not this", strings.Repeat("x", recall.MaxText+1),
		"use password=hunter22222 there")
	if d := cmp.Diff([]string{"one", "two\nlines", "use password=[masked] there"}, recall.Open(folder, "/w").Texts()); d != "" {
		t.Error(d)
	}
	if got := recall.Open(folder, "/other").Texts(); got != nil {
		t.Errorf("another folder has %q", got)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v: %q", err, files)
	}
	info, err := os.Stat(files[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: the mode is %v", err, info.Mode())
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v: the folder's mode is %v", err, info.Mode())
	}
}

func TestOldTextsGo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	f := recall.Open(folder, "/w")
	for i := range recall.MaxEntries + 20 {
		add(t, f, fmt.Sprint(i))
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*"))
	if err := appendTo(files[0], "not JSON\n"); err != nil {
		t.Fatal(err)
	}
	if got := recall.Open(folder, "/w").Texts(); len(got) != recall.MaxEntries || got[0] != "20" {
		t.Errorf("%d are kept, the first is %q", len(got), got[0])
	}
	data, err := os.ReadFile(files[0])
	if n := strings.Count(string(data), "\n"); err != nil || n != recall.MaxEntries {
		t.Errorf("%v: the file has %d lines", err, n)
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

func TestAFileThatCannotBeKept(t *testing.T) {
	t.Parallel()
	var none *recall.File
	if err := none.Add("x"); err != nil || none.Texts() != nil {
		t.Errorf("no file: %v", err)
	}
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := recall.Open(blocked, "/w").Add("x"); err == nil {
		t.Error("what cannot be written is not told")
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	texts := []string{"run the tests", "what is here", "Run it again"}
	for _, c := range []struct {
		words  string
		before int
		want   int
	}{{"run", 3, 2}, {"run", 2, 0}, {"run", 0, -1}, {"nosuch", 3, -1}, {"here", 99, 1}} {
		if got := recall.Search(texts, c.words, c.before); got != c.want {
			t.Errorf("%q before %d: %d, want %d", c.words, c.before, got, c.want)
		}
	}
}
