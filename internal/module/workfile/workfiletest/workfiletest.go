// Package workfiletest makes workspaces for tests.
package workfiletest

import (
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/module/workfile"
	"callgate/tool"
)

// Open opens a folder as a workspace, with links in it: where each leads, by its name. A
// test on a system without links is skipped.
func Open(t testing.TB, dir string, links map[string]string) workfile.Workspace {
	t.Helper()
	for name, to := range links {
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
	return w
}
