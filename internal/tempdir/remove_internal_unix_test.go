//go:build unix

package tempdir

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder is removed whatever modes it was left with, and nothing outside of it
// changes.
func TestRemove(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	dir := filepath.Join(t.TempDir(), "dir")
	for _, path := range []string{outside, filepath.Join(dir, "a", "b")} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "a", "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "a", "b"), filepath.Join(dir, "a"), dir} {
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
	}
	Remove(dir)
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("what a link led to: %v, %v", info, err)
	}
}

func TestMakeRemovableStaysInside(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.Chmod(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "a", "link")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	makeRemovable(root, ".")
	for path, want := range map[string]os.FileMode{filepath.Join(dir, "a", "b"): 0o700, outside: 0o755} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
}
