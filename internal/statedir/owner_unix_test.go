//go:build unix

package statedir_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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

// A directory of another user, or with files of another user in it, is not used,
// and the error says whose it is and what to do. A command with sudo, which keeps
// the user's home, leaves such a directory.
func TestOthersStateDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	for _, tt := range []struct{ name, path, want string }{
		{"the directory", ".", "state belongs to user 54321, and this process runs as root (user 0)"},
		{"the lock", "lock", "lock belongs to user 54321, and"},
		{"the database", "callgate.db", "callgate.db belongs to user 54321, and"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := at(t, filepath.Join(t.TempDir(), "state"))
			ok(t, os.Mkdir(d.String(), 0o700))
			if tt.path != "." {
				ok(t, os.WriteFile(filepath.Join(d.String(), tt.path), nil, 0o600))
			}
			ok(t, os.Chown(filepath.Join(d.String(), tt.path), 54321, 54321))
			before, err := os.ReadDir(d.String())
			ok(t, err)
			h, err := d.Hold()
			if err == nil {
				ok(t, h.Release())
			}
			if tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), tt.want) ||
				!strings.Contains(err.Error(), "(run callgate as that user, not with sudo; or name another state directory") {
				t.Errorf("got %v\nwant %q", err, tt.want)
			}
			if after, err := os.ReadDir(d.String()); err != nil || len(after) != len(before) {
				t.Errorf("something was written: %v, %v", after, err)
			}
		})
	}
}

// A command with sudo that keeps the user's home makes no directory of root in it.
func TestSudoWithTheUsersHome(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	home := t.TempDir()
	ok(t, os.Chown(home, 54321, 54321))
	t.Setenv("SUDO_UID", "54321")
	h, err := at(t, filepath.Join(home, ".local", "state", "callgate")).Hold()
	if err == nil {
		ok(t, h.Release())
	}
	want := home + " belongs to user 54321, and this process runs as root (user 0) (run callgate as that user, not with sudo"
	if tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v\nwant %q", err, want)
	}
	if _, err := os.Stat(filepath.Join(home, ".local")); err == nil {
		t.Error("a folder of root was made in the user's home")
	}
}

const ordinaryVar = "CALLGATE_STATEDIR_ORDINARY"

// TestOrdinaryProcess is another user's process, for the test below: it prints why
// it cannot hold a directory.
func TestOrdinaryProcess(t *testing.T) {
	path := os.Getenv(ordinaryVar)
	if path == "" {
		t.Skip("another test starts it")
	}
	_, err := at(t, path).Hold()
	os.Stdout.WriteString(fmt.Sprintf("%s: %v\n", tool.KindOf(err), err))
}

// An ordinary user is told that root owns the directory, or the folder above it.
func TestRootsStateDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	base, err := os.MkdirTemp("", "ordinary")
	ok(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	ok(t, os.Chmod(base, 0o755))
	data, err := os.ReadFile(os.Args[0]) // the test's own folder is closed to others
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(base, "test"), data, 0o755))
	ok(t, os.Mkdir(filepath.Join(base, "state"), 0o700))
	for path, want := range map[string]string{
		"state": "denied: the state directory is not used: " + base + "/state belongs to root (user 0), and this process " +
			"runs as user 54321 (if it should be yours: sudo chown -R 54321 " + base + "/state; or name another",
		"new/state": "belongs to root (user 0), and this process runs as user 54321 (name another with --state",
	} {
		cmd := exec.Command(filepath.Join(base, "test"), "-test.run=^TestOrdinaryProcess$")
		cmd.Dir, cmd.Env = "/", append(os.Environ(), ordinaryVar+"="+filepath.Join(base, path))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s\nwant %q", path, err, out, want)
		}
	}
}

// A client finds the socket of a kernel that has another temporary folder; a copy
// of the state directory does not lead to the kernel of the original.
func TestSocketOfAnotherTemporaryFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	base := t.TempDir()
	d := at(t, filepath.Join(base, strings.Repeat("long/", 20)))
	h := hold(t, d)
	path, err := h.PrepareSocket()
	ok(t, err)
	t.Setenv("TMPDIR", t.TempDir())
	if got := d.Socket(); got != path {
		t.Errorf("a client looks at %s, and the socket is %s", got, path)
	}
	twin := at(t, filepath.Join(base, strings.Repeat("other/", 20)))
	ok(t, os.CopyFS(twin.String(), os.DirFS(d.String())))
	if got := twin.Socket(); got == path || !strings.HasPrefix(got, os.TempDir()) {
		t.Errorf("a client of a copy looks at %s", got)
	}
}
