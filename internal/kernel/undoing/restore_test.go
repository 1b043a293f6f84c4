package undoing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/module/workfile"
	"callgate/internal/undo"
	"callgate/tool"
)

// TestFileChangedDuringTheRestore changes a file after the restore looked at it, as an editor does
// that takes no locks. The file is not put back.
func TestFileChangedDuringTheRestore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(path string) error
		failed bool
	}{
		"not at all": {func(string) error { return nil }, false},
		"written":    {func(path string) error { return os.WriteFile(path, []byte("by hand"), 0o600) }, true},
		"replaced": {func(path string) error {
			if err := os.WriteFile(path+"~", []byte("old"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+"~", path)
		}, true},
		"removed": {os.Remove, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			path := filepath.Join(dir, "a.txt")
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			grant := tool.Grant{Workspace: dir, Root: root}
			now, err := undo.Look(t.Context(), grant, "a.txt", 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			work, err := workfile.New(restoreTool, grant)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.change(path); err != nil {
				t.Fatal(err)
			}
			put := false
			r := &restorer{ctx: t.Context(), work: work}
			r.one(&File{Path: "a.txt", now: now}, func(*File) error {
				put = true
				return nil
			})
			if put == c.failed || len(r.done.Failed) > 0 != c.failed {
				t.Errorf("put back: %v, failures: %v", put, r.done.Failed)
			}
			if c.failed && len(r.done.Failed) > 0 && !strings.Contains(r.done.Failed[0].Why, "changed in the meantime") {
				t.Errorf("the reason is %q", r.done.Failed[0].Why)
			}
		})
	}
}
