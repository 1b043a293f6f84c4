package workfile_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/module/workfile"
	"callgate/internal/module/workfile/workfiletest"
	"callgate/tool"
)

// newWorkspace makes a workspace with a file, a folder, and links that lead inside
// and outside.
func newWorkspace(t *testing.T) (workfile.Workspace, string) {
	t.Helper()
	outside, dir := realTempDir(t), realTempDir(t)
	write(t, filepath.Join(outside, "secret"), "hush")
	write(t, filepath.Join(dir, "a.txt"), "alpha")
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	return workfiletest.Open(t, dir, map[string]string{
		"inside": "a.txt", "absolute": filepath.Join(dir, "a.txt"),
		"leaves": filepath.Join(outside, "secret"), "out": outside,
		"loop": "loop", "dangling": "sub/later.txt", "folder": filepath.Join(dir, "sub"),
	}), dir
}

func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	w, dir := newWorkspace(t)
	for path, want := range map[string]struct {
		kind tool.Kind
		text string
	}{
		"a.txt":                     {"", "alpha"},
		"sub/../a.txt":              {"", "alpha"},
		filepath.Join(dir, "a.txt"): {"", "alpha"},
		"inside":                    {"", "alpha"},
		"absolute":                  {"", "alpha"},
		"loop":                      {tool.Failed, ""},
		"dangling":                  {tool.NotFound, ""},
		"leaves":                    {tool.Denied, ""},
		"out/secret":                {tool.Denied, ""},
		"../x":                      {tool.Denied, ""},
		"/etc/hosts":                {tool.Denied, ""},
		"sub":                       {tool.Invalid, ""},
		"none":                      {tool.NotFound, ""},
		"":                          {tool.Invalid, ""},
		"a\x00b":                    {tool.Invalid, ""},
	} {
		f, _, err := w.Open(path)
		if tool.KindOf(err) != want.kind {
			t.Errorf("%q: %v, want %q", path, err, want.kind)
		}
		if err != nil {
			continue
		}
		if got, _ := io.ReadAll(f); string(got) != want.text {
			t.Errorf("%q holds %q", path, got)
		}
		_ = f.Close()
	}
	if _, err := workfile.New("test.do", tool.Grant{}); tool.KindOf(err) != tool.Denied {
		t.Errorf("no workspace: %v", err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	w, dir := newWorkspace(t)
	for _, c := range []struct {
		path   string
		last   bool
		name   string
		exists bool
		kind   tool.Kind
	}{
		{"a.txt", true, "a.txt", true, ""},
		{filepath.Join(dir, "sub", "..", "a.txt"), true, "a.txt", true, ""},
		{".", true, ".", true, ""},
		{"inside", true, "a.txt", true, ""},
		{"inside", false, "inside", true, ""},
		{"absolute", true, "a.txt", true, ""},
		{"leaves", false, "leaves", true, ""},
		{"leaves", true, "", false, tool.Denied},
		{"out/secret", true, "", false, tool.Denied},
		{"out/new", true, "", false, tool.Denied},
		{"folder/new.txt", true, filepath.Join("sub", "new.txt"), false, ""},
		{"dangling", true, filepath.Join("sub", "later.txt"), false, ""},
		{"new/deep.txt", true, filepath.Join("new", "deep.txt"), false, ""},
		{"a.txt/x", true, "", false, tool.NotFound},
		{"loop", true, "", false, tool.Failed},
		{"..", true, "", false, tool.Denied},
		{" ", true, "", false, tool.Invalid},
	} {
		p, err := w.Resolve(c.path, c.last)
		if tool.KindOf(err) != c.kind || err == nil && (p.Name != c.name || (p.Info != nil) != c.exists) {
			t.Errorf("%q is %+v, %v; want %q, %v, %q", c.path, p, err, c.name, c.exists, c.kind)
		}
	}
	_, err := w.Existing("a.tx", true)
	var e *tool.Error
	if !errors.As(err, &e) || e.Kind != tool.NotFound || !slices.Contains(e.Similar, "a.txt") {
		t.Errorf("a misspelt name: %v", err)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	w, dir := newWorkspace(t)
	replace := func(path string, was fs.FileInfo, text string, fail error) error {
		t.Helper()
		p, err := w.Resolve(path, true)
		if err != nil {
			t.Fatal(err)
		}
		return w.Replace(p, was, func(f io.Writer) error {
			if got := read(t, dir, "a.txt"); path == "a.txt" && got == text {
				t.Error("the new content is visible before it is complete")
			}
			_, err := io.WriteString(f, text)
			return errors.Join(err, fail)
		})
	}
	if err := os.Chmod(filepath.Join(dir, "a.txt"), 0o640); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := replace("a.txt", info, "beta", nil); err != nil || read(t, dir, "a.txt") != "beta" {
		t.Errorf("%v, %q", err, read(t, dir, "a.txt"))
	}
	if now, err := os.Stat(filepath.Join(dir, "a.txt")); err != nil || now.Mode() != info.Mode() {
		t.Errorf("the mode is %v, %v", now.Mode(), err)
	}
	// The file is not the one that was read.
	if err := replace("a.txt", info, "gamma", nil); tool.KindOf(err) != tool.Conflict || read(t, dir, "a.txt") != "beta" {
		t.Errorf("%v, %q", err, read(t, dir, "a.txt"))
	}
	err = replace("a.txt", nil, "gamma", context.Canceled)
	if tool.KindOf(err) != tool.Cancelled || read(t, dir, "a.txt") != "beta" {
		t.Errorf("%v, %q", err, read(t, dir, "a.txt"))
	}
	if err := replace("sub/new.txt", nil, "new", nil); err != nil || read(t, dir, "sub/new.txt") != "new" {
		t.Error(err)
	}
	if err := replace("inside", nil, "delta", nil); err != nil || read(t, dir, "a.txt") != "delta" {
		t.Errorf("through a link: %v, %q", err, read(t, dir, "a.txt"))
	}
	if link, err := os.Readlink(filepath.Join(dir, "inside")); err != nil || link != "a.txt" {
		t.Errorf("the link is %q, %v", link, err)
	}
	if err := replace("sub", nil, "x", nil); tool.KindOf(err) != tool.Invalid {
		t.Errorf("a directory: %v", err)
	}
	for _, folder := range []string{dir, filepath.Join(dir, "sub")} {
		if left := hidden(t, folder); len(left) > 0 {
			t.Errorf("left in %s: %q", folder, left)
		}
	}
}

func TestReadAll(t *testing.T) {
	t.Parallel()
	w, _ := newWorkspace(t)
	p, err := w.Existing("a.txt", true)
	if err != nil {
		t.Fatal(err)
	}
	if data, info, err := w.ReadAll(p, 5); err != nil || string(data) != "alpha" || info.Size() != 5 {
		t.Errorf("%q, %v", data, err)
	}
	var large *workfile.TooLargeError
	if _, _, err := w.ReadAll(p, 4); !errors.As(err, &large) || large.Size != 5 || large.Max != 4 {
		t.Errorf("a file that is too large: %v", err)
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	w, dir := newWorkspace(t)
	for path, want := range map[string]struct {
		replace bool
		kind    tool.Kind
	}{
		"new.txt":       {false, ""},
		"deep/er/x.txt": {false, ""},
		"a.txt":         {false, tool.Conflict},
		"sub":           {true, tool.Invalid},
		"sub/":          {true, tool.Invalid},
		".":             {true, tool.Invalid},
		"inside":        {true, tool.Invalid},
		"leaves":        {true, tool.Invalid},
		"out/x":         {true, tool.Denied},
		"../x":          {true, tool.Denied},
	} {
		target, err := w.Target(path, want.replace)
		if tool.KindOf(err) != want.kind {
			t.Errorf("%q: %v, want %q", path, err, want.kind)
		}
		if err == nil {
			target.Close()
		}
	}
	target, err := w.Target("a.txt", true)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	d, err := target.Create("")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(d, "beta")
	if got := read(t, dir, "a.txt"); got != "alpha" {
		t.Errorf("before the commit it holds %q", got)
	}
	if err := d.Commit(); err != nil || read(t, dir, "a.txt") != "beta" {
		t.Errorf("%v, %q", err, read(t, dir, "a.txt"))
	}
	if d, err = target.Create(""); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(d, "gamma")
	d.Discard()
	if left := hidden(t, dir); len(left) > 0 || read(t, dir, "a.txt") != "beta" {
		t.Errorf("a discarded file left %v", left)
	}
}

func TestPartials(t *testing.T) {
	t.Parallel()
	w, dir := newWorkspace(t)
	target, err := w.Target("big.bin", false)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	begin := func(mark, text string) *workfile.TempFile {
		t.Helper()
		d, err := target.Create(mark)
		if err == nil {
			_, err = io.WriteString(d, text)
		}
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if !begin("one", "12").KeepPartial() || !begin("two", "xx").KeepPartial() ||
		begin("three", "").KeepPartial() || begin("", "z").KeepPartial() {
		t.Error("only marked files that are not empty are kept")
	}
	if got := target.Partials(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("kept %v", got)
	}
	d := begin("one", "34")
	if d.Size() != 4 {
		t.Errorf("it continues at %d", d.Size())
	}
	if err := d.Commit(); err != nil || read(t, dir, "big.bin") != "1234" || len(hidden(t, dir)) > 0 {
		t.Errorf("%v, %q, left %v", err, read(t, dir, "big.bin"), hidden(t, dir))
	}
	// Another file took the place meanwhile: it is not replaced.
	d = begin("one", "5")
	if err := d.Commit(); tool.KindOf(err) != tool.Conflict || read(t, dir, "big.bin") != "1234" {
		t.Errorf("%v, %q", err, read(t, dir, "big.bin"))
	}
	d = begin("one", "junk")
	if err := d.Restart(); err != nil || d.Size() != 0 {
		t.Errorf("%v, %d", err, d.Size())
	}
	d.Discard()
	// A link is where a partial file would be.
	if err := os.Symlink("a.txt", filepath.Join(dir, ".big.bin.evil.part")); err != nil {
		t.Fatal(err)
	}
	if d, err := target.Create("evil"); err == nil {
		d.Discard()
		t.Error("a file was begun through a link")
	}
	if read(t, dir, "a.txt") != "alpha" {
		t.Error("a file was written through a link")
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func hidden(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// A file that was saved after it was read is not removed.
func TestRemove(t *testing.T) {
	t.Parallel()
	w, dir := newWorkspace(t)
	at, err := w.Existing("a.txt", false)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a.txt"), "saved meanwhile")
	if err := w.Remove(at, at.Info); tool.KindOf(err) != tool.Conflict {
		t.Errorf("a file that was saved meanwhile: %v", err)
	}
	if at, err = w.Existing("a.txt", false); err != nil {
		t.Fatal(err)
	}
	if err := w.Remove(at, at.Info); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
