package binding_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/gate/binding"
	"callgate/internal/module/filesystem/patchfile"
	"callgate/internal/module/workfile"
	"callgate/internal/module/workfile/workfiletest"
)

// namePieces are what names in patches are made of.
var namePieces = []string{
	"a.txt", "sub", "inside", "absolute", "folder", "later", "out", "up", "deep", "..", ".", "/", "/", "/", " ", "\t", "\\",
	`"`, `\056`, "a/", "b/", "\u00e9", "e\u0301", "\u202e", "\r", "~", "%2e", "file:", "WORKSPACE", "/dev/null", "dir", "A.TXT",
}

// FuzzPatchesWriteWhatIsClaimed: the file that a patch writes is the one that the gate
// named for it before, whatever the patch calls it and whichever links lie on its way.
func FuzzPatchesWriteWhatIsClaimed(f *testing.F) {
	for _, seed := range [][]byte{
		{0}, {1, 11, 0}, {2}, {4, 11, 0}, {7, 11, 0}, {8, 11, 9, 11, 0}, {5}, {6, 11, 0}, {28, 11, 0}, {17, 18, 0, 17},
		{14, 0}, {0, 15}, {19, 0}, {20, 1, 11, 0}, {9, 11, 0}, {8, 11, 2}, {31}, {4, 11, 9, 11, 3}, {8, 11, 9, 11, 9, 11, 0},
	} {
		f.Add(seed)
	}
	dir, w := linkedWorkspace(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var name strings.Builder
		for _, b := range data[:min(len(data), 16)] {
			name.WriteString(strings.ReplaceAll(namePieces[int(b)%len(namePieces)], "WORKSPACE", dir))
		}
		for _, patch := range []string{
			"*** Begin Patch\n*** Add File: " + name.String() + "\n+x\n*** End Patch\n",
			"*** Begin Patch\n*** Update File: a.txt\n*** Move to: " + name.String() + "\n*** End Patch\n",
			"--- /dev/null\n+++ b/" + name.String() + "\n@@ -0,0 +1 @@\n+x\n",
			"--- /dev/null\n+++ " + name.String() + "\n@@ -0,0 +1 @@\n+x\n",
			"diff --git a/a.txt b/x\nrename from a.txt\nrename to " + name.String() + "\n",
		} {
			checkPatch(t, w, patch)
		}
	})
}

// checkPatch writes each file of a patch as the tool does, and looks for it where the
// gate says that it is.
func checkPatch(t *testing.T, w workfile.Workspace, text string) {
	t.Helper()
	patch, err := patchfile.Parse(text)
	if err != nil {
		return
	}
	claimed, err := patchfile.Paths(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	for _, file := range patch.Files {
		for _, name := range []string{file.Path, file.MoveTo} {
			if name == "" {
				continue
			}
			if !slices.Contains(claimed, name) {
				t.Fatalf("%q touches %q, and claims %q", text, name, claimed)
			}
			canonical, refused := binding.Canonical(w.Dir, name)
			at, err := w.Resolve(name, true)
			if err != nil || w.MakeParents(at, true) != nil || at.Info != nil && !at.Info.Mode().IsRegular() {
				continue
			}
			content := "written as " + name
			if w.Replace(at, nil, func(f io.Writer) error { _, err := io.WriteString(f, content); return err }) != nil {
				continue
			}
			if refused != nil {
				t.Fatalf("%q was written as %q, and the gate refuses it: %v", name, at.Name, refused)
			}
			if got, err := os.ReadFile(canonical); err != nil || string(got) != content {
				t.Fatalf("%q was written as %q; the gate says %q, where there is %q, %v", name, at.Name, canonical, got, err)
			}
		}
	}
}

// linkedWorkspace is a workspace with links that lead inside and outside.
func linkedWorkspace(t testing.TB) (string, workfile.Workspace) {
	t.Helper()
	ground, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(ground, "here")
	for _, folder := range []string{"here/sub/in", "outside"} {
		if err := os.MkdirAll(filepath.Join(ground, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir, workfiletest.Open(t, dir, map[string]string{
		"inside": "a.txt", "absolute": filepath.Join(dir, "a.txt"), "folder": filepath.Join(dir, "sub"), "later": "sub/later.txt",
		"out": filepath.Join(ground, "outside"), "up": "..", "deep": "sub/in", "sub/in/up": "../..",
	})
}
