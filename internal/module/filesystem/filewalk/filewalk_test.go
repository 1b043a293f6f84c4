package filewalk_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"callgate/internal/module/filesystem/filewalk"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// newWorkspace makes a workspace with files, whose paths end in a slash if they
// are directories.
func newWorkspace(t *testing.T, paths ...string) workfile.Workspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	for _, path := range paths {
		full := filepath.Join(dir, path)
		if strings.HasSuffix(path, "/") {
			check(t, os.MkdirAll(full, 0o755))
			continue
		}
		check(t, os.MkdirAll(filepath.Dir(full), 0o755))
		check(t, os.WriteFile(full, []byte("x\n"), 0o644))
	}
	root, err := os.OpenRoot(dir)
	check(t, err)
	t.Cleanup(func() { _ = root.Close() })
	w, err := workfile.New("test.walk", tool.Grant{Root: root, Workspace: dir})
	check(t, err)
	return w
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start resolves a directory.
func start(t *testing.T, w workfile.Workspace, path string) workfile.Path {
	t.Helper()
	at, err := w.Directory(path)
	check(t, err)
	return at
}

func TestWalk(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "b/c", "b/a/x", "b.txt", "a", ".hidden/y", "empty/")
	if runtime.GOOS != "windows" {
		check(t, os.Symlink("b", filepath.Join(w.Dir, "link")))
	}
	var found []string
	unread, err := filewalk.Walk(t.Context(), w, start(t, w, "."), func(e filewalk.Entry) error {
		if e.Depth != strings.Count(e.Path, "/")+1 || filepath.Base(e.Path) != e.Name() {
			t.Errorf("%s at depth %d, named %s", e.Path, e.Depth, e.Name())
		}
		if _, err := e.Dir.Lstat(e.Name()); err != nil {
			t.Errorf("%s is not in its directory: %v", e.Path, err)
		}
		if e.Name() != "link" { // it is visited, and not followed
			found = append(found, e.Path)
		}
		return nil
	})
	if err != nil || len(unread) > 0 {
		t.Errorf("unread %q, %v", unread, err)
	}
	want := []string{".hidden", ".hidden/y", "a", "b", "b/a", "b/a/x", "b/c", "b.txt", "empty"}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	if !slices.IsSortedFunc(found, filewalk.Compare) {
		t.Errorf("%q is not in the order of Compare", found)
	}
}

func TestWalkEnds(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "a/x", "b/x", "c/x")
	walk := func(ctx context.Context, visit func(filewalk.Entry) error) (found []string, err error) {
		_, err = filewalk.Walk(ctx, w, start(t, w, "."), func(e filewalk.Entry) error {
			found = append(found, e.Path)
			return visit(e)
		})
		return found, err
	}
	found, err := walk(t.Context(), func(e filewalk.Entry) error {
		switch e.Path {
		case "a":
			return fs.SkipDir
		case "b/x":
			return fs.SkipAll
		}
		return nil
	})
	if want := []string{"a", "b", "b/x"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("found %q, %v; want %q", found, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	found, err = walk(ctx, func(filewalk.Entry) error { cancel(); return nil })
	if tool.KindOf(err) != tool.Cancelled || len(found) != 1 {
		t.Errorf("cancelled after %q: %v", found, err)
	}
	_, err = walk(t.Context(), func(filewalk.Entry) error { return os.ErrPermission })
	if tool.KindOf(err) != tool.Failed {
		t.Errorf("an error of the visitor: %v", err)
	}
}

// TestWalkSkipsTheKernelsFiles: a folder of the kernel is not visited, whatever
// its name.
func TestWalkSkipsTheKernelsFiles(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "state/key", "a")
	info, err := os.Stat(filepath.Join(w.Dir, "state"))
	check(t, err)
	w.Grant.HiddenFiles, w.Grant.HiddenPaths = []os.FileInfo{info}, []string{filepath.Join(w.Dir, "state")}
	var found []string
	_, err = filewalk.Walk(t.Context(), w, start(t, w, "."), func(e filewalk.Entry) error {
		found = append(found, e.Path)
		return nil
	})
	if err != nil || !slices.Equal(found, []string{"a"}) {
		t.Errorf("found %q, %v", found, err)
	}
}

func TestWalkIsNotEndless(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, strings.Repeat("d/", filewalk.MaxDepth+5))
	deepest := 0
	unread, err := filewalk.Walk(t.Context(), w, start(t, w, "."), func(e filewalk.Entry) error {
		deepest = e.Depth
		return nil
	})
	if err != nil || deepest != filewalk.MaxDepth || len(unread) != 1 {
		t.Errorf("depth %d, unread %q, %v", deepest, unread, err)
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "a.go", "b/c.go", "b/c.md", "b/.d/e.go", ".f.go", "g/h/i.go", ".git/j.go", "k/.git/l.go")
	for _, c := range []struct {
		pattern string
		hidden  bool
		from    string
		want    []string
	}{
		{"*.go", false, ".", []string{"a.go"}},
		{"**/*.go", false, ".", []string{"a.go", "b/c.go", "g/h/i.go"}},
		{"**/*.go", true, ".", []string{".f.go", "a.go", "b/.d/e.go", "b/c.go", "g/h/i.go"}},
		{"b/.d/*", false, ".", []string{"b/.d/e.go"}},
		{"**/*.go", false, "g", []string{"h/i.go"}},
		{"**", false, ".git", []string{"j.go"}},
		{"{b,g/h}/*", false, ".", []string{"b/c.go", "b/c.md", "g/h/i.go"}},
		{"nowhere/**", false, ".", nil},
	} {
		sel, err := filewalk.NewSelector(w, c.pattern, c.hidden)
		check(t, err)
		var found []string
		_, err = filewalk.Select(t.Context(), w, start(t, w, c.from), sel, func(e filewalk.Entry) error {
			if !e.IsDir() {
				found = append(found, e.Path)
			}
			return nil
		})
		if err != nil || !slices.Equal(found, c.want) {
			t.Errorf("%s from %s found %q, %v; want %q", c.pattern, c.from, found, err, c.want)
		}
	}
	_, err := filewalk.NewSelector(w, "[a", false)
	if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), "not closed") {
		t.Errorf("a pattern that is not closed: %v", err)
	}
}
