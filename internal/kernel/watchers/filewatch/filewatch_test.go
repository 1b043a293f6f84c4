package filewatch_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"callgate/internal/kernel/watchers/filewatch"
	"callgate/tool"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder returns a folder without links in its path.
func folder(t *testing.T) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	return path
}

// listener counts what it is told.
type listener chan struct{}

func (l listener) changed() {
	select {
	case l <- struct{}{}:
	default:
	}
}

// told waits until it is told of something.
func (l listener) told(t *testing.T, what string) {
	t.Helper()
	select {
	case <-l:
	case <-time.After(10 * time.Second):
		t.Fatalf("nothing is told of %s", what)
	}
}

// settle takes what is still on its way.
func (l listener) settle() {
	for {
		select {
		case <-l:
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
}

func (l listener) quiet(t *testing.T, what string) {
	t.Helper()
	select {
	case <-l:
		t.Errorf("told of %s", what)
	case <-time.After(200 * time.Millisecond):
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	ok(t, os.MkdirAll(filepath.Dir(path), 0o755))
	ok(t, os.WriteFile(path, []byte(time.Now().String()), 0o600))
}

func TestFolder(t *testing.T) {
	t.Parallel()
	var hub filewatch.Hub
	root := folder(t)
	at := func(path string) string { return filepath.Join(root, "in", path) }
	write(t, at("a/one"))
	l := make(listener, 1)
	stop, err := hub.Watch(at(""), l.changed)
	ok(t, err)
	for _, step := range []struct {
		what string
		do   func()
	}{
		{"a file that changes", func() { write(t, at("a/one")) }},
		{"a new file", func() { write(t, at("two")) }},
		{"a new folder", func() { ok(t, os.MkdirAll(at("b/c/d"), 0o755)) }},
		{"a file in a new folder", func() { write(t, at("b/c/d/three")) }},
		{"a file that is renamed", func() { ok(t, os.Rename(at("two"), at("zwei"))) }},
		{"a file that is removed", func() { ok(t, os.Remove(at("zwei"))) }},
		{"a folder that is removed", func() { ok(t, os.RemoveAll(at("a"))) }},
		{"that folder made again", func() { ok(t, os.Mkdir(at("a"), 0o755)) }},
		{"a file in it", func() { write(t, at("a/again")) }},
		{"the whole that is removed", func() { ok(t, os.RemoveAll(at(""))) }},
		{"the whole made again", func() { ok(t, os.Mkdir(at(""), 0o755)) }},
		{"a file in that", func() { write(t, at("last")) }},
	} {
		step.do()
		l.told(t, step.what)
		l.settle()
	}
	write(t, filepath.Join(root, "beside"))
	l.quiet(t, "a file beside it")
	stop()
	stop()
	write(t, at("after"))
	l.quiet(t, "something after the end")
	if n := hub.Watching(); n != 0 {
		t.Errorf("%d folders are watched after the end", n)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	var hub filewatch.Hub
	root := folder(t)
	file := filepath.Join(root, "one")
	l := make(listener, 1)
	stop, err := hub.Watch(file, l.changed) // it is not there yet
	ok(t, err)
	defer stop()
	write(t, file)
	l.told(t, "a file that comes to be")
	l.settle()
	write(t, filepath.Join(root, "other"))
	ok(t, os.Rename(filepath.Join(root, "other"), file))
	l.told(t, "a file that is replaced")
	l.settle()
	write(t, filepath.Join(root, "third"))
	ok(t, os.Chmod(file, 0o640))
	l.quiet(t, "another file, or a mode")
}

// Two who watch the same are told both, and one that ends takes nothing from the other.
func TestTwo(t *testing.T) {
	t.Parallel()
	var hub filewatch.Hub
	root := folder(t)
	one, two := make(listener, 1), make(listener, 1)
	stopOne, err := hub.Watch(root, one.changed)
	ok(t, err)
	stopTwo, err := hub.Watch(root, two.changed)
	ok(t, err)
	write(t, filepath.Join(root, "a"))
	one.told(t, "a file")
	two.told(t, "a file")
	stopOne()
	two.settle()
	write(t, filepath.Join(root, "b"))
	two.told(t, "a file after the other's end")
	stopTwo()
	if n := hub.Watching(); n != 0 {
		t.Errorf("%d folders are watched", n)
	}
	again, err := hub.Watch(root, one.changed)
	ok(t, err)
	defer again()
	one.settle()
	write(t, filepath.Join(root, "c"))
	one.told(t, "a file of the second time")
}

func TestTooMany(t *testing.T) {
	t.Parallel()
	var hub filewatch.Hub
	root := folder(t)
	for i := range filewatch.MaxFolders + 1 {
		ok(t, os.MkdirAll(filepath.Join(root, "x", strconv.Itoa(i)), 0o755))
	}
	if _, err := hub.Watch(filepath.Join(root, "x"), func() {}); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("%v", err)
	}
	if _, err := hub.Watch(filepath.Join(root, "no", "such", "folder"), func() {}); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("%v", err)
	}
	if n := hub.Watching(); n != 0 {
		t.Errorf("%d folders stay watched", n)
	}
}
