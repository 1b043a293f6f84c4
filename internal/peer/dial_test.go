//go:build linux || darwin

package peer_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/peer"
	"callgate/tool"
)

const nobody = 65534

// A socket is dialled only in a folder that nobody else could have made or filled.
func TestDialLooksAtTheFolder(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(folder string) (dialled string, err error)
		root    bool // only root can prepare it
		want    string
	}{
		{"the user's own", func(f string) (string, error) { return f, nil }, false, ""},
		{"read by others", func(f string) (string, error) { return f, os.Chmod(f, 0o755) }, false, ""},
		{"written by the group", func(f string) (string, error) { return f, os.Chmod(f, 0o770) }, false,
			"can be written by others (mode 0770) (chmod 700 "},
		{"written by all", func(f string) (string, error) { return f, os.Chmod(f, 0o777) }, false,
			"can be written by others (mode 0777)"},
		{"a link", func(f string) (string, error) { return f + "-link", os.Symlink(f, f+"-link") }, false,
			"is a link, not a folder (replace the link"},
		{"of another user", func(f string) (string, error) { return f, os.Chown(f, nobody, nobody) }, true,
			"(user 65534), and this process runs as root (user 0) (run callgate as that user, not with sudo"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			base, err := os.MkdirTemp("", "dial") // a socket's path must be short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(base) })
			folder := filepath.Join(base, "f")
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("unix", filepath.Join(folder, "s"))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			dialled, err := tt.prepare(folder)
			if err != nil {
				t.Fatal(err)
			}
			c, err := peer.Dial(t.Context(), filepath.Join(dialled, "s"))
			if err == nil {
				c.Close()
			}
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %q", err, tt.want)
			}
		})
	}
}

// A folder or a socket that is not there is not refused: a kernel may be started.
func TestDialNothing(t *testing.T) {
	folder := t.TempDir()
	for _, path := range []string{filepath.Join(folder, "s"), filepath.Join(folder, "none", "s")} {
		if c, err := peer.Dial(t.Context(), path); err == nil || tool.KindOf(err) == tool.Denied {
			t.Errorf("%s: %v, %v", path, c, err)
		}
	}
}
