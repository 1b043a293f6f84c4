//go:build linux || darwin

package vectorcache_test

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"callgate/tool"
)

const fullDir = "CALLGATE_VECTORCACHE_FULL"

// A disk that is full in the middle of a record costs that record.
func TestDiskFull(t *testing.T) {
	if dir := os.Getenv(fullDir); dir != "" {
		fillDisk(t, dir)
		return
	}
	dir, name, data := filled(t, 3)
	header := bytes.Index(data, []byte("model")) + len("model")
	size := (len(data) - header) / 3
	child := exec.Command(os.Args[0], "-test.run=^TestDiskFull$")
	child.Env = append(os.Environ(), fullDir+"="+dir)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if info, err := os.Stat(name); err != nil || info.Size() != fullAt || (fullAt-int64(header))%int64(size) == 0 {
		t.Fatalf("the file was to be cut within a record: %v, %v", info.Size(), err)
	}
	c := open(t, dir)
	whole := (fullAt - header) / size
	wants(t, c, upTo(whole))
	put(c, 0, 30)
	ok(t, c.Close())
	wants(t, open(t, dir), upTo(30))
}

const fullAt = 500

// fillDisk writes past the limit that stands for the end of the disk.
func fillDisk(t *testing.T, dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	ok(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	ok(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: fullAt, Max: before.Max}))
	defer func() { ok(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before)) }()
	c := open(t, dir)
	put(c, 3, 30)
	if err := c.Flush(); tool.KindOf(err) != tool.Unavailable {
		t.Fatalf("flush: %v", err)
	}
	if tool.KindOf(c.Err()) != tool.Unavailable {
		t.Errorf("reason: %v", c.Err())
	}
	put(c, 30, 40)
	ok(t, c.Close())
	wants(t, c, upTo(40))
}

// A pipe in the place of the file would be waited for.
func TestPipe(t *testing.T) {
	dir, name, _ := filled(t, 1)
	ok(t, os.Remove(name))
	ok(t, syscall.Mkfifo(name, 0o600))
	c := open(t, dir)
	if tool.KindOf(c.Err()) != tool.Unavailable {
		t.Errorf("reason: %v", c.Err())
	}
	put(c, 0, 2)
	ok(t, c.Close())
	wants(t, c, upTo(2))
}

// A link to a file elsewhere is as good as the file.
func TestLink(t *testing.T) {
	dir, name, _ := filled(t, 2)
	elsewhere := filepath.Join(t.TempDir(), "vectors")
	ok(t, os.Rename(name, elsewhere))
	ok(t, os.Symlink(elsewhere, name))
	c := open(t, dir)
	put(c, 2, 4)
	ok(t, c.Close())
	wants(t, open(t, dir), upTo(4))
}
