package appfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/app"
	"callgate/internal/cli/appfile"
	"callgate/internal/cli/command"
	"callgate/tool"
)

func newEnv(t *testing.T) *command.Env {
	t.Helper()
	return command.New(command.Host{Dir: t.TempDir(), Getenv: func(string) string { return "" }})
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	own := filepath.Join(e.Dir, app.Filename)
	if path, text, err := appfile.Read(e); err != nil || path != own || text != nil {
		t.Errorf("a file that does not exist: %s %q %v", path, text, err)
	}
	write(t, own, "name: own\n", 0o644)
	if path, text, err := appfile.Read(e); err != nil || path != own || string(text) != "name: own\n" {
		t.Errorf("the workspace's own: %s %q %v", path, text, err)
	}
	named := filepath.Join(e.Dir, "other.yaml")
	write(t, named, "name: other\n", 0o644)
	e.AppFile = "other.yaml"
	if path, text, err := appfile.Read(e); err != nil || path != named || string(text) != "name: other\n" {
		t.Errorf("the one that was named: %s %q %v", path, text, err)
	}
	e.AppFile = "." // a folder
	if _, _, err := appfile.Read(e); tool.KindOf(err) != tool.Failed {
		t.Errorf("a folder: %v", err)
	}
}

// An empty file is not one that does not exist.
func TestReadEmpty(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	write(t, filepath.Join(e.Dir, app.Filename), "", 0o644)
	if _, text, err := appfile.Read(e); err != nil || text == nil {
		t.Errorf("got %v %v", text, err)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "callgate.yaml")
	for _, tt := range []struct {
		name string
		mode os.FileMode
	}{{"a new file", 0}, {"a private file", 0o600}, {"a file of the group", 0o664}} {
		t.Run(tt.name, func(t *testing.T) {
			want := os.FileMode(0o644)
			if tt.mode != 0 {
				want = tt.mode
				write(t, path, "before", 0o600)
				if err := os.Chmod(path, tt.mode); err != nil {
					t.Fatal(err)
				}
			}
			if err := appfile.Replace(path, []byte("after")); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != "after" || info.Mode().Perm() != want {
				t.Errorf("got %q with mode %v, want mode %v: %v", text, info.Mode().Perm(), want, err)
			}
		})
	}
	err := appfile.Replace(filepath.Join(dir, "none", "callgate.yaml"), []byte("x"))
	if tool.KindOf(err) != tool.Failed {
		t.Errorf("a folder that is not there: %v", err)
	}
}
