//go:build unix

package daemon_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/daemon"
	"callgate/internal/statedir"
	"callgate/tool"
)

// Every way to a kernel refuses a state directory that somebody else has prepared,
// at once, and starts no kernel in it.
func TestAnotherUsersStateDirectoryIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	for name, connect := range map[string]func(statedir.Dir) error{
		"connect": func(dir statedir.Dir) error {
			c, err := daemon.Connect(t.Context(), daemon.Config{State: dir.String()})
			if err == nil {
				err = errors.Join(errors.New("connected"), c.Close())
			}
			return err
		},
		"spawn": func(dir statedir.Dir) error {
			return daemon.Spawn(t.Context(), dir, daemon.Program{Args: []string{"/bin/false"}})
		},
		"wait for end": func(dir statedir.Dir) error { return daemon.WaitStopped(t.Context(), dir) },
	} {
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "s")
			ok(t, os.Mkdir(state, 0o755))
			dir := statedir.Dir(state)
			l, err := net.Listen("unix", dir.Socket())
			ok(t, err)
			defer l.Close()
			ok(t, os.Chown(state, 65534, 65534))
			if err := connect(dir); tool.KindOf(err) != tool.Denied {
				t.Errorf("it is not refused: %v", err)
			}
			if _, err := os.Stat(filepath.Join(state, "lock")); err == nil {
				t.Error("a kernel was started there")
			}
		})
	}
}

// A client with another temporary folder than the kernel's finds the kernel, also
// where the socket is in the kernel's temporary folder.
func TestClientWithAnotherTemporaryFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	state := filepath.Join(t.TempDir(), strings.Repeat("long/", 20))
	d, err := daemon.Start(t.Context(), daemon.Config{State: state})
	ok(t, err)
	defer func() { ok(t, d.Stop()) }()
	t.Setenv("TMPDIR", t.TempDir())
	c, err := daemon.Connect(t.Context(), daemon.Config{State: state})
	if err != nil {
		t.Fatal(err)
	}
	if c.InProcess() {
		t.Error("the client started a kernel of its own")
	}
	ok(t, c.Close())
}
