package wordcache_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"callgate/internal/search/wordcache"
)

const file = "words.idx"

var keys = []wordcache.Key{{1, 2, 3}, {}, {0xff}}

// write writes a file with a content in the place of an index, and returns its path.
func write(t testing.TB, folder, content string) string {
	t.Helper()
	err := wordcache.Write(folder, "a recipe", keys, func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, file)
}

// read returns the keys and the content that is read.
func read(folder, recipe string) (keys []wordcache.Key, content string, err error) {
	keys, err = wordcache.Read(folder, recipe, func(r io.Reader, size int64) error {
		all, err := io.ReadAll(r)
		if content = string(all); err == nil && int64(len(all)) != size {
			err = wordcache.ErrDamaged
		}
		return err
	})
	return keys, content, err
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "of", "words")
	for _, content := range []string{"the first", "", string(bytes.Repeat([]byte("long "), 100_000))} {
		path := write(t, folder, content)
		got, text, err := read(folder, "a recipe")
		if err != nil || !slices.Equal(got, keys) || text != content {
			t.Fatalf("%v, %d bytes, %v", got, len(text), err)
		}
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Error(info.Mode(), err)
		}
	}
	if found, err := os.ReadDir(folder); err != nil || len(found) != 1 {
		t.Error(found, err)
	}
}

// A write that fails leaves the file that was there.
func TestAFailedWriteChangesNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "old")
	broken := errors.New("broken")
	err := wordcache.Write(folder, "a recipe", keys, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half of the new"); err != nil {
			return err
		}
		return broken
	})
	if _, text, readErr := read(folder, "a recipe"); !errors.Is(err, broken) || readErr != nil || text != "old" {
		t.Error(err, text, readErr)
	}
}

func TestDamageIsNoticed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := write(t, folder, "an index of words")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, at int, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := read(folder, "a recipe"); !errors.Is(err, wordcache.ErrDamaged) {
			t.Fatalf("%s at %d of %d: %v", what, at, len(whole), err)
		}
	}
	for at := range whole {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 0x40
		refused("another byte", at, flipped)
		refused("an end", at, whole[:at])
	}
	refused("a byte more", len(whole), append(bytes.Clone(whole), 0))
	refused("the same again", len(whole), append(bytes.Clone(whole), whole...))
	refused("zeros", 0, make([]byte, len(whole)))
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := read(folder, "another recipe"); !errors.Is(err, wordcache.ErrDamaged) {
		t.Error("another recipe:", err)
	}
	if _, _, err := read(folder, "a recipe"); err != nil {
		t.Error("as it was:", err)
	}
}

func TestNoFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if _, _, err := read(folder, "a recipe"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(folder, file), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := read(folder, "a recipe"); err == nil {
		t.Error("a folder was read")
	}
	huge := t.TempDir()
	f, err := os.Create(filepath.Join(huge, file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1<<30 + 1); err != nil { // without its blocks on the disk
		t.Skip(err)
	}
	if _, _, err := read(huge, "a recipe"); !errors.Is(err, wordcache.ErrDamaged) {
		t.Error("a file beyond the limit:", err)
	}
}

func FuzzRead(f *testing.F) {
	data, err := os.ReadFile(write(f, f.TempDir(), "content"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:20])
	f.Add([]byte("something else"))
	f.Fuzz(func(t *testing.T, data []byte) {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if keys, text, err := read(folder, "a recipe"); err == nil && 16*len(keys)+len(text) > len(data) {
			t.Errorf("%d keys and %d bytes of %d", len(keys), len(text), len(data))
		}
	})
}
