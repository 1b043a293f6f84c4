//go:build unix

package app_test

import (
	"os"
	"os/user"
	"path/filepath"
	"testing"

	"callgate/internal/app"
)

// Many systems make folders that the user's own group may write. Nobody else is in
// it, so that the file of such a folder is the user's.
func TestFindInPrivateGroup(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if group, err := user.LookupGroupId(me.Gid); err != nil || me.Uid == "0" || group.Name != me.Username {
		t.Skip("needs an ordinary user with a group of the same name: scripts/users.sh runs it")
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	project := filepath.Join(home, "project")
	if err := os.MkdirAll(filepath.Join(project, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(project, 0o775); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(project, "callgate.yaml")
	if err := os.WriteFile(want, nil, 0o664); err != nil {
		t.Fatal(err)
	}
	if got, err := app.Find(filepath.Join(project, "sub")); err != nil || got != want {
		t.Errorf("found %q, %v; want %q", got, err, want)
	}
}
