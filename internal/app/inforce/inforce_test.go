package inforce_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"callgate/internal/app/inforce"
)

func TestUserFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the paths are of another form here")
	}
	for name, c := range map[string]struct{ config, home, want string }{
		"by default":                 {"", "/home/ann", "/home/ann/.config/callgate/callgate.yaml"},
		"XDG_CONFIG_HOME":            {"/etc/ann", "/home/ann", "/etc/ann/callgate/callgate.yaml"},
		"a relative one is ignored":  {"conf", "/home/ann", "/home/ann/.config/callgate/callgate.yaml"},
		"a relative home is no home": {"", "ann", ""},
	} {
		env := map[string]string{"XDG_CONFIG_HOME": c.config, "HOME": c.home}
		if got := inforce.UserFile(func(name string) string { return env[name] }); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestShort(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for path, want := range map[string]string{
		filepath.Join(home, "a", "b"): filepath.Join("~", "a", "b"), home: "~", home + "x": home + "x",
	} {
		if got := inforce.Short(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, link := filepath.Join(folder, "a"), filepath.Join(folder, "b")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", link); err != nil {
		t.Skip(err)
	}
	if !inforce.Same(file, link) || inforce.Same(file, folder) || inforce.Same(filepath.Join(folder, "c"), file) {
		t.Error("files are told apart by their names")
	}
}
