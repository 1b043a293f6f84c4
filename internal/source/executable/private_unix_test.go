//go:build unix

package executable_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/source/executable"
)

// A tool that another user owns or may change is left out: the program, its
// manifest, and every folder up to the app's.
func TestOthersTools(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	const user = 54321 // of whom the system knows no name
	give := func(path string) error { return os.Chown(path, user, user) }
	share := func(path string) error { // with a group
		info, err := os.Stat(path)
		if err == nil {
			err = os.Chown(path, 0, user)
		}
		if err == nil {
			err = os.Chmod(path, info.Mode().Perm()|0o020)
		}
		return err
	}
	for _, tt := range []struct {
		name, path string // of the app's folder
		change     func(string) error
		want       string // "": it loads
	}{
		{"as it should be", ".", func(string) error { return nil }, ""},
		{"another user's program", "tools/global/x", give,
			"user 54321 may change x (the owner) (chown 0 x, or run callgate as its owner)"},
		{"another user's manifest", "tools/global/x.json", give, "user 54321 may change x.json (the owner)"},
		{"another user's folder", "tools/global", give,
			"user 54321 may put files into the folder of x.json (the owner)"},
		{"another user's folder above", "tools", give, "user 54321 may replace the folders in "},
		{"another user's app folder", ".", give, "user 54321 may replace the folders in "},
		{"a group's program", "tools/global/x", share, "the group 54321 may change x (mode 0775) (chmod g-w x)"},
		{"a group's manifest", "tools/global/x.json", share, "the group 54321 may change x.json (mode 0664)"},
		{"a group's folder", "tools/global", share, "the group 54321 may put files into the folder of x.json"},
		{"a group's app folder", ".", share, "the group 54321 may replace the folders in "},
		{"an app folder that all share, and where nobody replaces what is not theirs", ".",
			func(path string) error { return os.Chmod(path, os.ModeSticky|0o777) }, ""},
		{"above the app's folder", "..", share, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			app := filepath.Join(t.TempDir(), "above", "app")
			folder := filepath.Join(app, "tools", "global")
			files{"x.json": manifest("git.commit", ""), "x": script}.write(t, folder)
			must(t, tt.change(filepath.Join(app, tt.path)))
			tools, problems, err := load(t, executable.Options{Dir: folder, Root: app})
			must(t, err)
			got := strings.Join(problems, "\n")
			if tt.want == "" && (got != "" || len(tools) != 1) || tt.want != "" && len(tools) != 0 ||
				!strings.Contains(got, tt.want) {
				t.Errorf("%d tools, %s\nwant %q", len(tools), got, tt.want)
			}
		})
	}
}
