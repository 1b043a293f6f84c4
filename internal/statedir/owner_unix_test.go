//go:build unix

package statedir_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/tool"
)

const nobody = 65534

// A key that others may read proves nothing, to the kernel and to a client.
func TestHumanKeyOpenToOthers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(path string) error
		root   bool // only root can do it
		want   string
	}{
		{"read by all", func(p string) error { return os.Chmod(p, 0o644) }, false,
			"human.key is open to others (mode 0644) (chmod 600 "},
		{"read by a group", func(p string) error { return os.Chmod(p, 0o640) }, false,
			"human.key is open to others (mode 0640)"},
		{"of another user", func(p string) error { return os.Chown(p, nobody, nobody) }, true, "human.key belongs to "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			d := at(t, t.TempDir())
			h := hold(t, d)
			_, err := h.HumanKey()
			ok(t, err)
			ok(t, tt.change(filepath.Join(d.String(), "human.key")))
			for who, read := range map[string]func() (string, error){"the kernel": h.HumanKey, "a client": d.ReadHumanKey} {
				key, err := read()
				if key != "" || tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s has %q, %v\nwant %q", who, key, err, tt.want)
				}
			}
		})
	}
}

// The folder in the temporary folder, which all users share, must be the user's
// alone: whoever makes it first could serve the socket.
func TestFallbackFolder(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(folder string) error
		root    bool // only root can prepare it
		want    string
	}{
		{"absent", func(string) error { return nil }, false, ""},
		{"the user's own", func(f string) error { return os.Mkdir(f, 0o700) }, false, ""},
		{"opened by others", func(f string) error { return os.Mkdir(f, 0o755) }, false,
			"can be opened by others (mode 0755) (chmod 700 "},
		{"a link", func(f string) error { return os.Symlink(t.TempDir(), f) }, false, "is a link, not a folder"},
		{"a file", func(f string) error { return os.WriteFile(f, nil, 0o600) }, false, "not a "},
		{"of another user", func(f string) error {
			if err := os.Mkdir(f, 0o700); err != nil {
				return err
			}
			return os.Chown(f, nobody, nobody)
		}, true, "belongs to "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			t.Setenv("TMPDIR", t.TempDir())
			h := hold(t, at(t, filepath.Join(t.TempDir(), strings.Repeat("long/", 20))))
			ok(t, tt.prepare(filepath.Dir(h.Socket())))
			_, err := h.PrepareSocket()
			if tt.want == "" {
				ok(t, err)
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %q", err, tt.want)
			}
			if tt.name != "a file" && tool.KindOf(err) != tool.Denied {
				t.Errorf("it is %s", tool.KindOf(err))
			}
		})
	}
}
