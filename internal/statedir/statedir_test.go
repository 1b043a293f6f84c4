package statedir_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/statedir"
	"callgate/tool"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func at(t testing.TB, path string) statedir.Dir {
	t.Helper()
	d, err := statedir.At(path)
	ok(t, err)
	return d
}

func hold(t testing.TB, d statedir.Dir) *statedir.Held {
	t.Helper()
	h, err := d.Hold()
	ok(t, err)
	t.Cleanup(func() { _ = h.Release() })
	return h
}

func TestDefault(t *testing.T) {
	home := t.TempDir()
	for _, tt := range []struct {
		name, own, xdg, want string
	}{
		{"its own variable", filepath.Join(home, "own"), "/xdg", filepath.Join(home, "own")},
		{"the user's state folder", "", filepath.Join(home, "xdg"), filepath.Join(home, "xdg", "callgate")},
		{"a state folder that is relative", "", "xdg", filepath.Join(home, ".local", "state", "callgate")},
		{"the home folder", "", "", filepath.Join(home, ".local", "state", "callgate")},
	} {
		t.Setenv("HOME", home)
		t.Setenv("USERPROFILE", home)
		t.Setenv("CALLGATE_STATE", tt.own)
		t.Setenv("XDG_STATE_HOME", tt.xdg)
		if got, err := statedir.Default(); err != nil || got.String() != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
	t.Setenv("HOME", "")
	t.Setenv("USERPROFILE", "")
	if _, err := statedir.Default(); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("without a home folder: %v", err)
	}
}

func TestAtIsAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	if got := at(t, "state").String(); !filepath.IsAbs(got) || filepath.Base(got) != "state" {
		t.Errorf("got %s", got)
	}
}

func TestHoldMakesAPrivateFolder(t *testing.T) {
	d := at(t, filepath.Join(t.TempDir(), "a", "b"))
	h := hold(t, d)
	info, err := os.Stat(d.String())
	ok(t, err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v", info.Mode())
	}
	if d.Holder() != os.Getpid() {
		t.Errorf("held by %d", d.Holder())
	}
	ok(t, h.Release())
	ok(t, hold(t, d).Release()) // and can be held again
}

func TestHoldFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	ok(t, os.WriteFile(file, nil, 0o600))
	if _, err := at(t, filepath.Join(file, "state")).Hold(); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("below a file: %v", err)
	}
}

const holderVar = "CALLGATE_STATEDIR_HOLDER"

// TestHolderProcess is another process, for the test below: it holds a directory
// until its input ends.
func TestHolderProcess(t *testing.T) {
	path := os.Getenv(holderVar)
	if path == "" {
		t.Skip("another test starts it")
	}
	hold(t, at(t, path))
	os.Stdout.WriteString("held\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// A directory has one holder, and a holder that is killed leaves it to the next.
func TestOneHolder(t *testing.T) {
	d := at(t, t.TempDir())
	child := exec.Command(os.Args[0], "-test.run=^TestHolderProcess$")
	child.Env = append(os.Environ(), holderVar+"="+d.String())
	in, err := child.StdinPipe()
	ok(t, err)
	defer in.Close()
	out, err := child.StdoutPipe()
	ok(t, err)
	ok(t, child.Start())
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	_, err = d.Hold()
	if tool.KindOf(err) != tool.Conflict || !strings.Contains(err.Error(), "already serves") {
		t.Errorf("while another process holds it: %v", err)
	}
	if d.Holder() != child.Process.Pid {
		t.Errorf("held by %d, want %d", d.Holder(), child.Process.Pid)
	}
	ok(t, child.Process.Kill())
	_ = child.Wait() // killed
	hold(t, d)
}

func TestHumanKey(t *testing.T) {
	d := at(t, t.TempDir())
	if _, err := d.ReadHumanKey(); tool.KindOf(err) != tool.NotFound {
		t.Errorf("before a kernel ran: %v", err)
	}
	h := hold(t, d)
	key, err := h.HumanKey()
	if err != nil || len(key) < 16 {
		t.Fatalf("%q, %v", key, err)
	}
	again, err := h.HumanKey()
	if err != nil || again != key {
		t.Errorf("it became %q, %v", again, err)
	}
	if read, err := d.ReadHumanKey(); err != nil || read != key {
		t.Errorf("a client reads %q, %v", read, err)
	}
	path := filepath.Join(d.String(), "human.key")
	info, err := os.Stat(path)
	ok(t, err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v", info.Mode())
	}
	ok(t, os.WriteFile(path, []byte("short\n"), 0o600))
	if _, err := h.HumanKey(); tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), "remove that file") {
		t.Errorf("a damaged key: %v", err)
	}
}

func TestSocketPaths(t *testing.T) {
	short, long := at(t, "/s"), at(t, "/"+strings.Repeat("long/", 30))
	if got := short.Socket(); got != filepath.Join(short.String(), "kernel.sock") {
		t.Errorf("a short path has its socket at %s", got)
	}
	got := long.Socket()
	temp, err := filepath.Abs(os.TempDir())
	ok(t, err)
	if len(got) > 100 && len(temp) < 50 || !strings.HasPrefix(got, temp) || got != long.Socket() {
		t.Errorf("a long path has its socket at %s", got)
	}
	if other := at(t, "/"+strings.Repeat("long/", 31)).Socket(); other == got {
		t.Error("two folders share a socket")
	}
	t.Setenv("TMPDIR", "tmp")
	if got := long.Socket(); runtime.GOOS != "windows" && !filepath.IsAbs(got) {
		t.Errorf("with a relative TMPDIR, a long path has its socket at %s", got)
	}
}

func TestPrepareSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("access lists decide there")
	}
	h := hold(t, at(t, filepath.Join(t.TempDir(), "state")))
	path, err := h.PrepareSocket()
	ok(t, err)
	l, err := net.Listen("unix", path)
	ok(t, err)
	l.(*net.UnixListener).SetUnlinkOnClose(false) // as a kernel that was killed leaves it
	ok(t, l.Close())
	again, err := h.PrepareSocket()
	ok(t, err)
	if _, err := os.Lstat(again); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the stale socket is still there: %v", err)
	}
	ok(t, os.Chmod(h.String(), 0o777))
	if _, err := h.PrepareSocket(); tool.KindOf(err) != tool.Denied {
		t.Errorf("a folder that others may write into: %v", err)
	}
}
