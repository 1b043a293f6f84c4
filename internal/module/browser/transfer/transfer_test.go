package transfer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/tool"
)

func TestSafeName(t *testing.T) {
	for suggested, want := range map[string]string{
		"report.csv": "report.csv", "été 漢.pdf": "été 漢.pdf", "archive.tar.gz": "archive.tar.gz", "com": "com",
		"../../etc/passwd": "passwd", `..\..\evil.exe`: "evil.exe", "/abs/olute.txt": "olute.txt",
		".bashrc": "bashrc", "..": "download", "": "download", "trailing. ": "trailing",
		"a\x00b.txt": "ab.txt", "gpj.\u202eexe": "gpj.exe", "a<b>:c.txt": "a_b__c.txt",
		"con": "download-con", "NUL.txt": "download-NUL.txt", "com1.tar.gz": "download-com1.tar.gz",
	} {
		stem, ext := safeName(suggested)
		if stem+ext != want {
			t.Errorf("%q became %q, want %q", suggested, stem+ext, want)
		}
	}
}

func FuzzSafeName(f *testing.F) {
	for _, s := range []string{"a.b", "../x", strings.Repeat("漢", 200) + ".txt", "..", "con", "\xff\xfe.x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, suggested string) {
		stem, ext := safeName(suggested)
		name := stem + ext
		switch {
		case stem == "", strings.ContainsAny(name, "/\\\x00\n"), strings.HasPrefix(name, "."),
			len(name) > maxName+len("download-"), !utf8.ValidString(name), !filepath.IsLocal(name),
			filepath.Base(name) != name:
			t.Errorf("%q became %q", suggested, name)
		}
	})
}

// workspace returns the grant of a new workspace.
func workspace(t testing.TB) tool.Grant {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return tool.Grant{Workspace: dir, Root: root}
}

func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A download gets a new name, however often it comes, and leaves nothing behind.
func TestSaveDownload(t *testing.T) {
	g, folder := workspace(t), t.TempDir()
	for i, want := range []string{"downloads/a.txt", "downloads/a (2).txt", "downloads/a (3).txt"} {
		file := write(t, filepath.Join(folder, "guid"), strings.Repeat("x", i+1))
		path, err := SaveDownload("op", g, "../a.txt", file)
		if err != nil || path != want {
			t.Fatalf("saved as %q, %v, want %q", path, err, want)
		}
		if got := read(t, filepath.Join(g.Workspace, path)); got != strings.Repeat("x", i+1) {
			t.Errorf("%s holds %q", path, got)
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("the downloaded file was left")
		}
	}
	for name, c := range map[string]struct {
		grant tool.Grant
		file  string
	}{
		"without a workspace": {tool.Grant{}, write(t, filepath.Join(folder, "guid"), "x")},
		"without a file":      {g, filepath.Join(folder, "none")},
	} {
		if path, err := SaveDownload("op", c.grant, "a", c.file); err == nil || path != "" {
			t.Errorf("%s it was saved as %q", name, path)
		}
	}
}

// A folder that leads out of the workspace takes no download.
func TestSaveDownloadStaysInside(t *testing.T) {
	g, outside := workspace(t), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(g.Workspace, Folder)); err != nil {
		t.Skip(err)
	}
	path, err := SaveDownload("op", g, "a.txt", write(t, filepath.Join(t.TempDir(), "guid"), "x"))
	if err == nil {
		t.Errorf("saved as %q", path)
	}
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Errorf("%v is outside", left)
	}
}

func TestStageUpload(t *testing.T) {
	g, folder := workspace(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(g.Workspace, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(g.Workspace, "a.txt"), "first")
	write(t, filepath.Join(g.Workspace, "sub", "a.txt"), "second")
	staged, err := StageUpload("op", g, folder, []string{"a.txt", "sub/a.txt"})
	if err != nil || len(staged) != 2 {
		t.Fatalf("staged %q, %v", staged, err)
	}
	for i, want := range []string{"first", "second"} {
		if read(t, staged[i]) != want || filepath.Base(staged[i]) != "a.txt" || !strings.HasPrefix(staged[i], folder) {
			t.Errorf("file %d is staged as %s", i, staged[i])
		}
	}
	secret := write(t, filepath.Join(t.TempDir(), "secret"), "hush")
	if err := os.Symlink(secret, filepath.Join(g.Workspace, "link")); err != nil {
		t.Skip(err)
	}
	for path, kind := range map[string]tool.Kind{
		"none": tool.NotFound, "../secret": tool.Denied, secret: tool.Denied, "link": tool.Denied,
	} {
		if staged, err := StageUpload("op", g, t.TempDir(), []string{path}); tool.KindOf(err) != kind {
			t.Errorf("%s is staged as %q, %v; want %s", path, staged, err, kind)
		}
	}
	if _, err := StageUpload("op", tool.Grant{}, folder, []string{"a.txt"}); err == nil {
		t.Error("staged without a workspace")
	}
}
