package workfile_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/module/workfile"
	"callgate/tool"
)

// room is a workspace with a file, a folder, and links that stay and leave.
func room(t *testing.T) (workfile.Workspace, string) {
	t.Helper()
	outside, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "secret"), "hush")
	write(t, filepath.Join(dir, "a.txt"), "alpha")
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"inside": "a.txt", "leaves": filepath.Join(outside, "secret"), "out": outside} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	w, err := workfile.New("test.do", tool.Grant{Root: root, Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	return w, dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestOpen(t *testing.T) {
	w, dir := room(t)
	for path, want := range map[string]struct {
		kind tool.Kind
		text string
	}{
		"a.txt":                     {"", "alpha"},
		"sub/../a.txt":              {"", "alpha"},
		filepath.Join(dir, "a.txt"): {"", "alpha"},
		"inside":                    {"", "alpha"},
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

func TestTarget(t *testing.T) {
	w, dir := room(t)
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
		t.Errorf("a discarded draft left %v", left)
	}
}

func TestDraftsAreKept(t *testing.T) {
	w, dir := room(t)
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
	if !begin("one", "12").KeepPartial() || !begin("two", "xx").KeepPartial() || begin("three", "").KeepPartial() || begin("", "z").KeepPartial() {
		t.Error("what is kept are marked drafts with something in them")
	}
	if got := target.Partials(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("kept %v", got)
	}
	d := begin("one", "34")
	if d.Size() != 4 {
		t.Errorf("it goes on at %d", d.Size())
	}
	if err := d.Commit(); err != nil || read(t, dir, "big.bin") != "1234" || len(hidden(t, dir)) > 0 {
		t.Errorf("%v, %q, left %v", err, read(t, dir, "big.bin"), hidden(t, dir))
	}
	// The place was taken in the meantime: nothing is replaced.
	d = begin("one", "5")
	if err := d.Commit(); tool.KindOf(err) != tool.Conflict || read(t, dir, "big.bin") != "1234" {
		t.Errorf("%v, %q", err, read(t, dir, "big.bin"))
	}
	d = begin("one", "junk")
	if err := d.Restart(); err != nil || d.Size() != 0 {
		t.Errorf("%v, %d", err, d.Size())
	}
	d.Discard()
	// Somebody put a link where a draft would be.
	if err := os.Symlink("a.txt", filepath.Join(dir, ".big.bin.evil.part")); err != nil {
		t.Fatal(err)
	}
	if d, err := target.Create("evil"); err == nil {
		d.Discard()
		t.Error("a draft was begun through a link")
	}
	if read(t, dir, "a.txt") != "alpha" {
		t.Error("a draft was written through a link")
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
