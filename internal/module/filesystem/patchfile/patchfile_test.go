package patchfile_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"callgate/internal/module/filesystem/patchfile"
)

const marked = `*** Begin Patch
*** Add File: new/a.txt
+one
+
+two
*** Delete File: old.txt
*** Update File: src/b.go
*** Move to: src/c.go
@@ func B() {
 kept
-gone
+come
*** Update File: d.go
 x
+y
*** End of File
*** End Patch
`

const unified = `diff --git a/src/b.go b/src/b.go
index 1..2 100644
--- a/src/b.go
+++ b/src/b.go
@@ -3,3 +3,3 @@ func B() {
 kept
--- gone
+++ come
 end
diff --git a/x.txt b/y.txt
similarity index 100%
rename from x.txt
rename to y.txt
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+one
+two
\ No newline at end of file
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-one
`

func TestPaths(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		patch string
		want  []string
	}{
		{marked, []string{"new/a.txt", "old.txt", "src/b.go", "src/c.go", "d.go"}},
		{"```patch\n" + marked + "```\n", []string{"new/a.txt", "old.txt", "src/b.go", "src/c.go", "d.go"}},
		{strings.ReplaceAll(marked, "\n", "\r\n"), []string{"new/a.txt", "old.txt", "src/b.go", "src/c.go", "d.go"}},
		{unified, []string{"src/b.go", "x.txt", "y.txt", "new.txt", "old.txt"}},
		{"--- a.go\t2026-01-01\n+++ a.go\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n", []string{"a.go"}},
		{"--- a/b.go\n+++ a/b.go\n@@ -1 +1 @@\n-a\n+b\n", []string{"a/b.go"}},
		{"--- \"a/\\303\\251.txt\"\n+++ \"b/\\303\\251.txt\"\n@@ -1 +1 @@\n-a\n+b\n", []string{"é.txt"}},
	} {
		got, err := patchfile.Paths(test.patch)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%q, %v; want %q of\n%s", got, err, test.want, test.patch)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	p, err := patchfile.Parse(marked)
	if err != nil {
		t.Fatal(err)
	}
	add, update, last := p.Files[0], p.Files[2], p.Files[3]
	if add.Action != patchfile.Add || !slices.Equal(add.Lines, []string{"one", "", "two"}) {
		t.Errorf("%+v", add)
	}
	if h := update.Hunks[0]; h.Line != 9 || !slices.Equal(h.Above, []string{"func B() {"}) || len(h.Lines) != 3 {
		t.Errorf("%+v", h)
	}
	if !last.Hunks[0].EndOfFile {
		t.Errorf("%+v", last)
	}
	p, err = patchfile.Parse(unified)
	if err != nil {
		t.Fatal(err)
	}
	want := []patchfile.Line{{Sign: ' ', Text: "kept"}, {Sign: '-', Text: "-- gone"}, {Sign: '+', Text: "++ come"}, {Sign: ' ', Text: "end"}}
	if h := p.Files[0].Hunks[0]; h.Start != 3 || !reflect.DeepEqual(h.Lines, want) {
		t.Errorf("%+v", h)
	}
	if f := p.Files[2]; f.Action != patchfile.Add || f.End != patchfile.WithoutNewline || len(f.Lines) != 2 {
		t.Errorf("%+v", f)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ patch, want string }{
		{"", "names no file"},
		{"hello", "names no file"},
		{"*** Begin Patch\n*** Update File: a\n@@\n-x\n", "does not end in"},
		{"*** Begin Patch\n*** Update File:\n*** End Patch", "line 2 of the patch"},
		{"*** Begin Patch\n*** Update File: a\n*** End Patch", "has no hunk"},
		{"*** Begin Patch\n*** Update File: a\n@@\n*** End Patch", "line 3 of the patch: the hunk has no lines"},
		{"*** Begin Patch\n*** Update File: a\n@@\nfunc x\n*** End Patch", `line 4 of the patch: a line of a hunk begins with`},
		{"*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "line 3 of the patch: each line of the new file"},
		{"*** Begin Patch\n*** Rename File: a\n*** End Patch", `and is "*** Rename File: a"`},
		{"*** Begin Patch\n*** Delete File: a\n*** End Patch\n*** Delete File: b\n", "after"},
		{"@@ -1 +1 @@\n-a\n+b\n", "before the names"},
		{"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\nb\n", "line 5 of the patch"},
		{"diff --git a/x b/x\nBinary files a/x and b/x differ\n", "binary"},
	} {
		_, err := patchfile.Parse(test.patch)
		var mistake *patchfile.Error
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.patch, err, test.want)
		}
	}
}

// FuzzParse: what is parsed names only files that Paths returns, and every hunk has
// lines.
func FuzzParse(f *testing.F) {
	f.Add(marked)
	f.Add(unified)
	f.Add("--- a\n+++ b\n@@ -1 @@\n+\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := patchfile.Parse(text)
		paths, pathsErr := patchfile.Paths(text)
		if (err == nil) != (pathsErr == nil) {
			t.Fatalf("%v, %v", err, pathsErr)
		}
		if err != nil {
			return
		}
		for _, file := range p.Files {
			if file.Path == "" || !slices.Contains(paths, file.Path) || file.MoveTo != "" && !slices.Contains(paths, file.MoveTo) {
				t.Fatalf("%+v is not among %q", file, paths)
			}
			for _, h := range file.Hunks {
				if len(h.Lines) == 0 || h.Start < 0 {
					t.Fatalf("%+v", h)
				}
			}
		}
	})
}
