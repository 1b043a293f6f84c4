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
