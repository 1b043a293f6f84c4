package app_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"callgate/internal/app"
)

// The rules of a folder hold in the folders below it, as far as they are the same
// person's.
func TestFind(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	dir := func(folder string, files ...string) string {
		folder = filepath.Join(home, folder)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return folder
	}
	project := dir("project", "callgate.yaml")
	dir("repository", ".git")
	dir("above", "callgate.yaml")
	dir("above/repository", ".git")
	dir("shared", "callgate.yaml")
	if err := os.Chmod(filepath.Join(home, "shared"), 0o777); err != nil {
		t.Fatal(err)
	}
	outside := dir("home-of-files")
	if err := os.WriteFile(filepath.Join(filepath.Dir(home), "callgate.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir("dangling"), "callgate.yaml")); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ folder, want string }{
		"its own":                             {project, project},
		"a parent's":                          {dir("project/a/b"), project},
		"the nearest":                         {dir("project/near/x"), filepath.Join(home, "project/near")},
		"none in a repository":                {dir("repository/a"), ""},
		"not above the root of a repository":  {dir("above/repository/a"), ""},
		"not above home":                      {outside, ""},
		"a link that leads nowhere counts":    {dir("dangling/a"), filepath.Join(home, "dangling")},
		"not one that others may have put in": {dir("shared/a"), ""},
	}
	dir("project/near", "callgate.yaml")
	ends := map[string]string{
		"none in a repository": filepath.Join(home, "repository") + " is the root of a repository",
		"not above home":       home + " is your home",
		"not one that others may have put in": "anybody may put files into " +
			filepath.Join(home, "shared") + " (mode 0777)",
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			if c.folder == filepath.Join(home, "shared/a") && runtime.GOOS == "windows" {
				t.Skip("modes say nothing here")
			}
			want := c.want
			if want != "" {
				want = filepath.Join(want, "callgate.yaml")
			}
			got, err := app.Find(c.folder)
			if err != nil || got != want {
				t.Errorf("found %q, %v; want %q", got, err, want)
			}
			trail, err := app.Trace(c.folder)
			if end := ends[name]; err != nil || end != "" && trail.End != end || (trail.End == "") != (want != "") ||
				trail.Searched[0] != c.folder {
				t.Errorf("searched %+v, %v; want the end %q", trail, err, end)
			}
		})
	}
}
