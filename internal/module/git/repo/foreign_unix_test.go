//go:build unix

package repo_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/module/git/gittest"
	"callgate/tool"
)

// Git refuses the repository of another user, unless the user calls it safe; so do
// the tools.
func TestRepositoryOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a folder of another user")
	}
	w := gittest.New(t)
	w.Git("init", "-q", "theirs")
	theirs := filepath.Join(w.Dir, "theirs")
	check(t, filepath.WalkDir(theirs, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, 12345, 12345)
	}))
	settings := filepath.Join(t.TempDir(), "gitconfig")
	t.Setenv("GIT_CONFIG_GLOBAL", settings)
	for _, c := range []struct {
		name, safe string
		opens      bool
	}{
		{"nothing is safe", "", false},
		{"this folder", "directory = " + theirs, true},
		{"another folder", "directory = " + theirs + "s", false},
		{"a folder above", "directory = " + w.Dir + "/*", true},
		{"a folder with a name that begins the same", "directory = " + w.Dir + "/the*", false},
		{"all", "directory = *", true},
		{"taken back", "directory = *\n\tdirectory =", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			check(t, os.WriteFile(settings, []byte("[safe]\n\t"+c.safe+"\n"), 0o600))
			_, err := open(w, "theirs")
			if c.opens && err != nil {
				t.Error(err)
			}
			if !c.opens && (tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), "user 12345")) {
				t.Errorf("%v", err)
			}
		})
	}
}
