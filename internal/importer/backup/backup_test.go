package backup_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/importer/backup"
	"callgate/tool"
)

const before, next = "{\r\n\t\"a\": 1 // \xff\r\n}", "{}\n"

// place is a file to change, and a folder for backups that is not there yet.
func place(t *testing.T) (path, dir string) {
	t.Helper()
	root := t.TempDir()
	path = filepath.Join(root, "config.json")
	put(t, path, before)
	return path, filepath.Join(root, "state", "backups")
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q (%v), and not %q", path, got, err, want)
	}
}

func apply(t *testing.T, path, dir string) backup.Backup {
	t.Helper()
	b, err := backup.Apply(backup.Change{Path: path, Before: []byte(before), Next: []byte(next)}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestApplyAndUndo(t *testing.T) {
	path, dir := place(t)
	apply(t, path, dir)
	has(t, path, next)
	all, err := backup.List(dir)
	if err != nil || len(all) != 1 || all[0].Path != path {
		t.Fatalf("%v, %v", all, err)
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]os.FileMode{path: 0o640, dir: 0o700, filepath.Join(dir, all[0].ID+".json"): 0o600, filepath.Join(dir, all[0].ID+".bytes"): 0o600} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s has the mode %v (%v)", name, info.Mode(), err)
			}
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := backup.Undo(all[0], false); err != nil {
		t.Fatal(err)
	}
	has(t, path, before)
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v (%v)", info.Mode(), err)
	}
	if all, err := backup.List(dir); err != nil || len(all) > 0 {
		t.Errorf("what is undone is still there: %v, %v", all, err)
	}
	if err := backup.Undo(all[0], false); tool.KindOf(err) != tool.NotFound {
		t.Errorf("a second time: %v", err)
	}
	for _, folder := range []string{dir, filepath.Dir(path)} {
		left, _ := filepath.Glob(filepath.Join(folder, ".*.partial"))
		if len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestUndoAfterAChange(t *testing.T) {
	path, dir := place(t)
	b := apply(t, path, dir)
	put(t, path, "somebody's work")
	err := backup.Undo(b, false)
	if tool.KindOf(err) != tool.Conflict || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	has(t, path, "somebody's work")
	if err := backup.Undo(b, true); err != nil {
		t.Fatal(err)
	}
	has(t, path, before)
}

// A file that is gone is only written again when that is asked for; one that
// somebody restored by hand is well.
func TestUndoElsewhere(t *testing.T) {
	path, dir := place(t)
	b := apply(t, path, dir)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := backup.Undo(b, false); tool.KindOf(err) != tool.Conflict {
		t.Errorf("%v", err)
	}
	put(t, path, before)
	if err := backup.Undo(b, false); err != nil {
		t.Error(err)
	}
	has(t, path, before)
}

func TestUndoInReverse(t *testing.T) {
	path, dir := place(t)
	apply(t, path, dir)
	if _, err := backup.Apply(backup.Change{Path: path, Before: []byte(next), Next: []byte("third")}, dir); err != nil {
		t.Fatal(err)
	}
	all, err := backup.List(dir)
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	if err := backup.Undo(all[1], false); tool.KindOf(err) != tool.Conflict {
		t.Errorf("the older one first: %v", err)
	}
	for _, b := range all {
		if err := backup.Undo(b, false); err != nil {
			t.Fatal(err)
		}
	}
	has(t, path, before)
}

func TestApplyToWhatChanged(t *testing.T) {
	path, dir := place(t)
	put(t, path, "newer")
	_, err := backup.Apply(backup.Change{Path: path, Before: []byte(before), Next: []byte(next)}, dir)
	if tool.KindOf(err) != tool.Conflict {
		t.Errorf("%v", err)
	}
	has(t, path, "newer")
	if all, err := backup.List(dir); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := backup.Apply(backup.Change{Path: path + ".none"}, dir); err == nil {
		t.Error("a file that is not there was changed")
	}
}

func TestLink(t *testing.T) {
	path, dir := place(t)
	link := filepath.Join(filepath.Dir(path), "link.json")
	if err := os.Symlink("config.json", link); err != nil {
		t.Skip("no links here:", err)
	}
	b := apply(t, link, dir)
	for range 2 {
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Fatalf("the link is gone: %v", err)
		}
		if b.ID == "" {
			break
		}
		has(t, path, next)
		if err := backup.Undo(b, false); err != nil {
			t.Fatal(err)
		}
		b.ID = ""
	}
	has(t, path, before)
}

func TestDamage(t *testing.T) {
	path, dir := place(t)
	b := apply(t, path, dir)
	if err := os.WriteFile(filepath.Join(dir, b.ID+".bytes"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := backup.Undo(b, true); tool.KindOf(err) != tool.Invalid {
		t.Errorf("%v", err)
	}
	has(t, path, next)
	for name, text := range map[string]string{"x.json": "{", "y.json": `{"id": "z"}`, "w.json": `{"id": "w", "file": "relative"}`, "v.json": string(bytes.Repeat([]byte(" "), 100_000)), "u.txt": "{}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := backup.List(dir); err != nil || len(all) != 1 || all[0].ID != b.ID {
		t.Errorf("%v, %v", all, err)
	}
}

// Where a file cannot be written, it stays, and no backup pretends otherwise.
func TestUnwritable(t *testing.T) {
	path, dir := place(t)
	folder := filepath.Dir(path)
	if err := os.Mkdir(filepath.Join(folder, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(folder, 0o700)
	if f, err := os.Create(filepath.Join(folder, "probe")); err == nil {
		f.Close()
		t.Skip("needs an ordinary user: scripts/users.sh runs it")
	}
	_, err := backup.Apply(backup.Change{Path: path, Before: []byte(before), Next: []byte(next)}, dir)
	if tool.KindOf(err) != tool.Unavailable {
		t.Errorf("%v", err)
	}
	has(t, path, before)
	if all, err := backup.List(dir); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// A file that did not exist before is removed, unless it was changed since.
func TestCreateAndUndo(t *testing.T) {
	path, dir := place(t)
	path = filepath.Join(filepath.Dir(path), "new.yaml")
	create := func() backup.Backup {
		t.Helper()
		b, err := backup.Apply(backup.Change{Path: path, Next: []byte(next), Create: true}, dir)
		if err != nil {
			t.Fatal(err)
		}
		has(t, path, next)
		return b
	}
	b := create()
	if _, err := backup.Apply(backup.Change{Path: path, Next: []byte(next), Create: true}, dir); tool.KindOf(err) != tool.Conflict {
		t.Errorf("a file that exists: %v", err)
	}
	put(t, path, "mine")
	if err := backup.Undo(b, false); tool.KindOf(err) != tool.Conflict {
		t.Errorf("a file that was changed: %v", err)
	}
	has(t, path, "mine")
	put(t, path, next)
	all, err := backup.List(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	if err := backup.Undo(all[0], false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	if all, err := backup.List(dir); err != nil || len(all) > 0 {
		t.Errorf("what is undone is still listed: %v, %v", all, err)
	}
	b = create()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := backup.Undo(b, false); err != nil {
		t.Errorf("a file that is already gone: %v", err)
	}
	b = create()
	put(t, path, "mine")
	if err := backup.Undo(b, true); err != nil {
		t.Errorf("by force: %v", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}
