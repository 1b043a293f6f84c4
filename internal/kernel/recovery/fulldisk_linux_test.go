package recovery_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// RELIABILITY 11: a kernel whose disk is full, with a call of its predecessor in
// doubt, starts and reads; what needs the journal is refused with a clear text; when
// there is room, the doubt is on record and the asker is told.
func TestStartOnAFullDiskWithACallInDoubt(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	workspace, p := t.TempDir(), &putter{}
	left := cutOff(t, kerneltest.StateDir(t), workspace, p, putOld)
	ok(t, os.Mkdir(state, 0o700))
	if err := unix.Mount("tmpfs", state, "tmpfs", 0, "size=2m,mode=0700"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(state, unix.MNT_DETACH) })
	ok(t, os.CopyFS(state, os.DirFS(left)))
	for _, key := range []string{"human.key", "journal.key"} {
		if _, err := os.Stat(filepath.Join(state, key)); err == nil {
			ok(t, os.Chmod(filepath.Join(state, key), 0o600))
		}
	}
	// The database is opened once while there is room, so that it is this doubt that
	// meets the full disk and nothing before it.
	filler := filepath.Join(state, "filler")
	fill(t, filler)
	k := kerneltest.Open(t, state, p.tool(t, workspace))
	if open, err := k.Journal.Doubts(t.Context()); err != nil || len(open) != 0 {
		t.Fatalf("in doubt: %v, %v: the disk was not full", open, err)
	}
	if begun := records(t, k, journal.Begun); len(begun) != 1 {
		t.Errorf("begun: %+v", begun)
	}
	s := kerneltest.OpenSession(t, k, workspace)
	if r := kerneltest.Call(t, s, "filesystem.list", `{}`); r.Status != tool.Success {
		t.Errorf("reading: %+v", r)
	}
	r := kerneltest.Call(t, s, "team.put", `{"path":"y","text":"NEW"}`)
	if r.Status != tool.Failure || r.Error.Kind != tool.Unavailable || !strings.Contains(r.Summary, "disk is full") {
		t.Errorf("writing: %+v", r)
	}
	if p.ran() != 0 {
		t.Error("a handler ran without a record")
	}
	ok(t, os.Remove(filler))
	kerneltest.Eventually(t, func() bool {
		open, err := k.Journal.Doubts(t.Context())
		return err == nil && len(open) == 1
	})
	kerneltest.Eventually(t, func() bool {
		told := told(t, k, workspace)
		return len(told) == 1 && strings.Contains(told[0], "in doubt")
	})
	if p.ran() != 0 {
		t.Error("it was made again after others had been served")
	}
	if r := kerneltest.Call(t, s, "team.put", `{"path":"y","text":"NEW"}`); r.Status != tool.Success {
		t.Errorf("with room: %+v", r)
	}
}

// fill takes all the room there is.
func fill(t testing.TB, path string) {
	t.Helper()
	f, err := os.Create(path)
	ok(t, err)
	defer f.Close()
	for size := 64 << 10; size > 0; size /= 2 {
		for {
			if _, err := f.Write(make([]byte, size)); err != nil {
				break
			}
		}
	}
}
