package layout_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/cli/setup/layout"
)

func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// What make install put there is found; what only has the name is not.
func TestFind(t *testing.T) {
	t.Parallel()
	prefix, home := filepath.Join(t.TempDir(), "a prefix"), t.TempDir()
	program := write(t, filepath.Join(prefix, "bin", "callgate"), "program", 0o755)
	for path, text := range map[string]string{
		"share/bash-completion/completions/callgate":    "# bash completion V2 for callgate",
		"share/zsh/site-functions/_callgate":            "#compdef callgate\n",
		"share/fish/vendor_completions.d/callgate.fish": "# mine, by hand",
		"share/man/man1/callgate.1":                     ".nh\n.TH \"CALLGATE\" \"1\"\n",
		"share/man/man1/callgate-up.1":                  ".nh\n.TH \"CALLGATE-UP\" \"1\"\n",
		"share/man/man1/callgate-other.1":               ".TH \"OTHER\" \"1\"\n",
		"share/man/man1/other.1":                        ".TH \"CALLGATE\" \"1\"\n",
	} {
		write(t, filepath.Join(prefix, path), text, 0o644)
	}
	write(t, filepath.Join(home, ".config/fish/completions/callgate.fish"), "# fish completion for callgate -*-", 0o644)
	var got []string
	for _, f := range layout.Find(program, home) {
		if f.Bytes == 0 {
			t.Errorf("%s has no size", f.Path)
		}
		got = append(got, string(f.Kind)+" "+f.Shell+" "+filepath.Base(f.Path))
	}
	want := "program  callgate, completion bash callgate, completion zsh _callgate, manual page  callgate-up.1, " +
		"manual page  callgate.1, completion fish callgate.fish"
	if strings.Join(got, ", ") != want {
		t.Errorf("found %q", got)
	}
	if kind := layout.Package(program); kind != "" {
		t.Errorf("it came from a package: %s", kind)
	}
	write(t, filepath.Join(prefix, "share/callgate/package"), "deb\n", 0o644)
	if kind := layout.Package(program); kind != "deb" {
		t.Errorf("it came from a package: %q", kind)
	}
}

// A program outside any bin has nothing beside it, and nothing of the root folder is taken for its own.
func TestNoPrefix(t *testing.T) {
	t.Parallel()
	program := write(t, filepath.Join(t.TempDir(), "tools", "callgate"), "program", 0o755)
	if found := layout.Find(program, ""); len(found) != 1 || layout.Prefix(program) != "" || layout.Package(program) != "" {
		t.Errorf("found %+v", found)
	}
}

func TestOnPath(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links and modes")
	}
	a, b, link, none := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	first := write(t, filepath.Join(a, "callgate"), "x", 0o755)
	second := write(t, filepath.Join(b, "callgate"), "y", 0o755)
	write(t, filepath.Join(none, "callgate"), "z", 0o644)
	if err := os.Symlink(first, filepath.Join(link, "callgate")); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{none, a, "", ".", link, b, a}, string(filepath.ListSeparator))
	if got := layout.OnPath(path); len(got) != 2 || got[0] != first || got[1] != second {
		t.Errorf("found %q", got)
	}
}

// A program under ~/.local has its completions where a user puts theirs: each is found once,
// and so are the documents of an archive.
func TestPrefixInAHome(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	program := write(t, filepath.Join(home, ".local/bin/callgate"), "program", 0o755)
	write(t, filepath.Join(home, ".local/share/bash-completion/completions/callgate"), "# bash completion V2 for callgate", 0o644)
	write(t, filepath.Join(home, ".local/share/man/man1/callgate.1"), ".TH \"CALLGATE\" \"1\"\n", 0o644)
	words := write(t, filepath.Join(home, ".local/share/doc/callgate/copyright"), "Apache-2.0", 0o644)
	found := layout.Find(program, home)
	if len(found) != 4 {
		t.Errorf("found %+v", found)
	}
	for _, f := range found {
		if err := layout.Remove(f); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Dir(words)); err == nil {
		t.Error("the empty folder of the documents stays")
	}
}

// Packages have their pages packed.
func TestPackedPages(t *testing.T) {
	t.Parallel()
	prefix := t.TempDir()
	program := write(t, filepath.Join(prefix, "bin", "callgate"), "program", 0o755)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(".nh\n.TH \"CALLGATE\" \"1\"\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(prefix, "share/man/man1/callgate.1.gz"), packed.String(), 0o644)
	write(t, filepath.Join(prefix, "share/man/man1/callgate-up.1.gz"), "not packed", 0o644)
	if found := layout.Find(program, ""); len(found) != 2 || found[1].Kind != layout.Manual {
		t.Errorf("found %+v", found)
	}
}

func TestSizeAndRemove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "12345", 0o600)
	mark := write(t, filepath.Join(dir, "callgate", "package"), "deb\n", 0o600)
	if got := layout.Size(dir); got != 9 {
		t.Errorf("%d bytes", got)
	}
	for range 2 {
		if err := layout.Remove(layout.File{Path: mark}); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Dir(mark)); err == nil {
		t.Error("the empty folder stays")
	}
	if got := layout.Size(filepath.Join(dir, "nothing")); got != 0 {
		t.Errorf("nothing has %d bytes", got)
	}
}
