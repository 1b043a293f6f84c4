package durable_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/durable"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want checks the content and mode of a file.
func want(t testing.TB, path, text string, mode fs.FileMode) {
	t.Helper()
	data, err := os.ReadFile(path)
	ok(t, err)
	if string(data) != text {
		t.Errorf("%s holds %q, want %q", filepath.Base(path), data, text)
	}
	info, err := os.Stat(path)
	ok(t, err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != mode {
		t.Errorf("%s has mode %v, want %v", filepath.Base(path), info.Mode().Perm(), mode)
	}
}

// names lists a folder.
func names(t testing.TB, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	ok(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestWriteReplaces(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	ok(t, durable.Write(path, []byte("old"), 0o644))
	want(t, path, "old", 0o644)
	ok(t, durable.Write(path, []byte("new"), 0o600))
	want(t, path, "new", 0o600)
	ok(t, durable.Write(path, nil, 0o600))
	want(t, path, "", 0o600)
	if got := names(t, folder); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the folder holds %q", got)
	}
}

func TestWriteKeepsTheOldFileWhenItFails(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	ok(t, durable.Write(path, []byte("old"), 0o600))
	broken := errors.New("broken")
	err := durable.WriteFrom(path, 0o600, func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	want(t, path, "old", 0o600)
	if got := names(t, folder); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the folder holds %q", got)
	}
	ok(t, os.Mkdir(filepath.Join(folder, "full"), 0o700))
	ok(t, os.WriteFile(filepath.Join(folder, "full", "x"), nil, 0o600))
	if durable.Write(filepath.Join(folder, "full"), []byte("x"), 0o600) == nil {
		t.Error("a folder was replaced by a file")
	}
	if durable.Write(filepath.Join(folder, "absent", "a"), nil, 0o600) == nil {
		t.Error("a file was written into a folder that does not exist")
	}
	if got := names(t, folder); !slices.Equal(got, []string{"a", "full"}) {
		t.Errorf("the folder holds %q", got)
	}
}

func TestLongNames(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{strings.Repeat("x", 255), strings.Repeat("é", 127), "with space", ".hidden"} {
		path := filepath.Join(folder, name)
		ok(t, durable.Write(path, []byte(name), 0o600))
		want(t, path, name, 0o600)
	}
}

func TestCreate(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "key")
	ok(t, durable.Create(path, []byte("first"), 0o600))
	if err := durable.Create(path, []byte("second"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("creating it again: %v", err)
	}
	want(t, path, "first", 0o600)
	if got := names(t, folder); !slices.Equal(got, []string{"key"}) {
		t.Errorf("the folder holds %q", got)
	}
}

// Of many that create one file, one succeeds, and its content stays.
func TestCreateOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	var group sync.WaitGroup
	winners := make(chan string, 16)
	for n := range 16 {
		group.Go(func() {
			text := fmt.Sprint(n)
			switch err := durable.Create(path, []byte(text), 0o600); {
			case err == nil:
				winners <- text
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	group.Wait()
	close(winners)
	var list []string
	for text := range winners {
		list = append(list, text)
	}
	if len(list) != 1 {
		t.Fatalf("%d succeeded", len(list))
	}
	want(t, path, list[0], 0o600)
}

// A reader never sees half a file, whatever the writers do.
func TestReadersSeeWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	content := func(n int) []byte { return bytes.Repeat([]byte{byte('a' + n)}, 64<<10) }
	ok(t, durable.Write(path, content(0), 0o600))
	var writers, reader sync.WaitGroup
	done := make(chan struct{})
	reader.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			data, err := os.ReadFile(path)
			if err != nil || len(data) != 64<<10 || !bytes.Equal(data, bytes.Repeat(data[:1], len(data))) {
				t.Errorf("read %d bytes, %v", len(data), err)
				return
			}
		}
	})
	for n := range 4 {
		writers.Go(func() {
			for range 10 {
				if err := durable.Write(path, content(n), 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	reader.Wait()
}

// What a crash left is removed with the next write, when it is old enough to be
// nobody's; another file's is not touched.
func TestPartialsAreRemoved(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	crash := func(name string, age time.Duration) string {
		f, err := durable.New(folder, name)
		ok(t, err)
		_, err = f.Write([]byte("half"))
		ok(t, err)
		then := time.Now().Add(-age)
		ok(t, os.Chtimes(f.Name(), then, then))
		t.Cleanup(f.Discard) // a crash would only leave the file
		return filepath.Base(f.Name())
	}
	old, young, other := crash("a", 2*time.Hour), crash("a", time.Minute), crash("b", 2*time.Hour)
	for _, name := range []string{old, young, other} {
		if !durable.IsPartial(name) {
			t.Errorf("%q is not recognised", name)
		}
	}
	ok(t, durable.Write(path, []byte("x"), 0o600))
	got := names(t, folder)
	if slices.Contains(got, old) || !slices.Contains(got, young) || !slices.Contains(got, other) {
		t.Errorf("the folder holds %q", got)
	}
	ok(t, durable.RemovePartials(path, 0))
	if got := names(t, folder); !slices.Equal(got, []string{other, "a"}) {
		t.Errorf("the folder holds %q", got)
	}
}

func TestIsPartial(t *testing.T) {
	for name, want := range map[string]bool{
		".a.123.partial": true, "a.partial": false, ".partial": false, "..partial": false, ".a": false, "": false,
	} {
		if durable.IsPartial(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestCommitElsewhere(t *testing.T) {
	folder := t.TempDir()
	ok(t, os.Mkdir(filepath.Join(folder, "to"), 0o700))
	f, err := durable.New(folder, "put")
	ok(t, err)
	_, err = io.WriteString(f, "text")
	ok(t, err)
	ok(t, f.Commit(filepath.Join(folder, "to", "a"), 0o600))
	f.Discard() // does nothing now
	want(t, filepath.Join(folder, "to", "a"), "text", 0o600)
	if got := names(t, folder); !slices.Equal(got, []string{"to"}) {
		t.Errorf("the folder holds %q", got)
	}
}

func TestMove(t *testing.T) {
	folder := t.TempDir()
	ok(t, os.Mkdir(filepath.Join(folder, "from"), 0o700))
	ok(t, os.WriteFile(filepath.Join(folder, "from", "a"), []byte("x"), 0o600))
	ok(t, durable.Move(filepath.Join(folder, "from"), filepath.Join(folder, "to")))
	want(t, filepath.Join(folder, "to", "a"), "x", 0o600)
	if err := durable.Move(filepath.Join(folder, "from"), filepath.Join(folder, "to2")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("moving a folder that is absent: %v", err)
	}
}

// A folder that is open is written to, not what was put in its place.
func TestInAnOpenFolder(t *testing.T) {
	base := t.TempDir()
	folder, elsewhere := filepath.Join(base, "folder"), filepath.Join(base, "elsewhere")
	ok(t, os.Mkdir(folder, 0o700))
	ok(t, os.Mkdir(elsewhere, 0o700))
	ok(t, os.WriteFile(filepath.Join(folder, "a"), []byte("old"), 0o600))
	dir, err := os.OpenRoot(folder)
	ok(t, err)
	defer dir.Close()
	if runtime.GOOS != "windows" { // which keeps an open folder where it is
		moved := filepath.Join(base, "moved")
		ok(t, os.Rename(folder, moved))
		ok(t, os.Symlink(elsewhere, folder))
		folder = moved
	}
	ok(t, durable.WriteIn(dir, "a", []byte("new"), 0o640))
	ok(t, durable.CreateIn(dir, "b", []byte("made"), 0o755))
	if err := durable.CreateIn(dir, "b", []byte("again"), 0o755); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	want(t, filepath.Join(folder, "a"), "new", 0o640)
	want(t, filepath.Join(folder, "b"), "made", 0o755)
	if got := append(names(t, folder), names(t, elsewhere)...); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the folders hold %q", got)
	}
	for _, name := range []string{"../a", "x/a", ""} {
		if durable.WriteIn(dir, name, nil, 0o600) == nil {
			t.Errorf("%q was written", name)
		}
	}
}
