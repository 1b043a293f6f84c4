package nofollow_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"callgate/internal/nofollow"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder is a root with a file that nobody may reach through a link.
func folder(t *testing.T) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	ok(t, err)
	t.Cleanup(func() { _ = root.Close() })
	ok(t, root.MkdirAll("rules/sub", 0o755))
	ok(t, root.WriteFile("rules/file", []byte("rules"), 0o600))
	return root, dir
}

func link(t *testing.T, root *os.Root, to, name string) {
	t.Helper()
	if err := root.Symlink(filepath.FromSlash(to), name); err != nil {
		t.Skip("there are no links here:", err)
	}
}

func TestOpenDir(t *testing.T) {
	t.Parallel()
	root, _ := folder(t)
	link(t, root, "rules", "linked")
	ok(t, root.Mkdir("plain", 0o755))
	link(t, root, "../rules", "plain/linked")
	for name, want := range map[string]error{
		".": nil, "rules": nil, "rules/sub/": nil, "linked": nofollow.ErrLink, "linked/sub": nofollow.ErrLink,
		"plain/linked/sub": nofollow.ErrLink, "none": os.ErrNotExist,
	} {
		dir, err := nofollow.OpenDir(root, name)
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			ok(t, dir.Close())
		}
	}
	for _, name := range []string{"..", "/", "a/../..", "rules/file"} {
		if _, err := nofollow.OpenDir(root, name); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}

func TestMakeDir(t *testing.T) {
	t.Parallel()
	root, dir := folder(t)
	link(t, root, "rules/sub", "linked")
	made, err := nofollow.MakeDir(root, "a/b")
	ok(t, err)
	ok(t, made.WriteFile("x", nil, 0o600))
	ok(t, made.Close())
	if _, err := os.Stat(filepath.Join(dir, "a", "b", "x")); err != nil {
		t.Error(err)
	}
	if _, err := nofollow.MakeDir(root, "linked/new"); !errors.Is(err, nofollow.ErrLink) {
		t.Errorf("behind a link: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "rules", "sub", "new")); err == nil {
		t.Error("a folder was made behind a link")
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	root, dir := folder(t)
	link(t, root, "rules/file", "linked")
	link(t, root, "rules/none", "dangling")
	ok(t, root.Link("rules/file", "second"))
	for name, want := range map[string]error{
		"linked": nofollow.ErrLink, "dangling": nofollow.ErrLink, "second": nofollow.ErrNames, "rules": nofollow.ErrNotRegular,
	} {
		if name == "second" && runtime.GOOS == "windows" {
			continue
		}
		if _, err := nofollow.Append(root, name); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range 2 { // it is made, then found
		f, err := nofollow.Append(root, "new")
		ok(t, err)
		_, err = f.WriteString("x")
		ok(t, errors.Join(err, f.Close()))
	}
	if data, err := os.ReadFile(filepath.Join(dir, "new")); err != nil || string(data) != "xx" {
		t.Errorf("%q %v", data, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "rules", "none")); err == nil {
		t.Error("a file was made behind a link")
	}
}

// A file is opened only if it is the one that was found.
func TestOpenWhatWasFound(t *testing.T) {
	t.Parallel()
	root, _ := folder(t)
	ok(t, root.WriteFile("a", []byte("one"), 0o600))
	found, err := root.Lstat("a")
	ok(t, err)
	f, err := nofollow.Open(root, "a", found)
	ok(t, err)
	ok(t, f.Close())
	ok(t, root.Rename("a", "old"))
	link(t, root, "rules/file", "a")
	if _, err := nofollow.Open(root, "a", found); !errors.Is(err, nofollow.ErrChanged) {
		t.Errorf("a link came in its place: %v", err)
	}
}
