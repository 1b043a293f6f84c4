package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"callgate/internal/journal"
	"callgate/tool"
)

// smallDisk mounts a disk of a few megabytes.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("a small disk cannot be mounted here (%v): run as root to test a disk that is really full", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	return dir
}

// ballast fills the disk to its last byte, and returns what frees it again.
func ballast(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := 4096; block > 0; {
		if _, err := f.Write(make([]byte, block)); errors.Is(err, syscall.ENOSPC) {
			block /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFullDisk fills a real disk under a journal, twice, and frees it again.
// Everybody is told; what was acknowledged stays; what was kept is written.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := openState(t, smallDisk(t))
	s.fill(t, 10)
	var told, kept []string
	for round := range 2 {
		free := ballast(t, s.dir)
		for n := 0; ; n++ { // the log may still have room of its own
			call := fmt.Sprintf("round-%d-%d", round, n)
			if _, err := s.j.Commit(t.Context(), journal.Record{Kind: journal.Begun, Call: call, Note: strings.Repeat("x", 1000)}); err != nil {
				if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "space") {
					t.Fatalf("a full disk says %q", err)
				}
				break
			}
			told = append(told, call)
			call += "-end"
			if _, err := s.j.Commit(t.Context(), journal.Record{Kind: journal.Ended, Call: call}); err == nil {
				told = append(told, call)
			} else {
				kept = append(kept, call)
			}
			if n > 10_000 {
				t.Fatal("a full disk holds no end of records")
			}
		}
		late := fmt.Sprintf("round-%d-kept", round)
		if _, err := s.j.Commit(t.Context(), journal.Record{Kind: journal.Ended, Call: late}); tool.KindOf(err) != tool.Unavailable {
			t.Fatalf("ending a call on a full disk: %v", err)
		}
		kept = append(kept, late)
		if _, err := s.j.Read(t.Context(), journal.Query{Limit: 10}); err != nil {
			t.Fatalf("reading on a full disk: %v", err)
		}
		free()
		again := fmt.Sprintf("round-%d-again", round)
		if _, err := s.j.Commit(t.Context(), journal.Record{Kind: journal.Begun, Call: again}); err != nil {
			t.Fatalf("after space returned: %v", err)
		}
		told = append(told, again)
	}
	s.close(t)
	if report := verify(t, s); !report.OK() {
		t.Fatalf("after the disk was full: %+v", report.Problems)
	}
	s = openState(t, s.dir)
	for _, call := range append(told, kept...) {
		records, err := s.j.Read(t.Context(), journal.Query{Call: call})
		if err != nil || len(records) != 1 {
			t.Fatalf("call %s is on record %d times: %v", call, len(records), err)
		}
	}
	t.Logf("%d acknowledged, %d kept", len(told), len(kept))
}

// TestOpenOnAFullDisk starts on a disk without a byte to spare: everything can be
// read, it says why, and it can be written as soon as there is space.
func TestOpenOnAFullDisk(t *testing.T) {
	t.Parallel()
	s := openState(t, smallDisk(t))
	s.fill(t, 10)
	s.close(t)
	free := ballast(t, s.dir)
	if n, err := openAgain(t, s); err != nil || n != 21 {
		t.Fatalf("starting on a full disk: %d rows, %v (%s)", n, err, tool.KindOf(err))
	}
	s = openState(t, s.dir)
	if err := s.db.Problem(); tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "space") {
		t.Errorf("it says %v", err)
	}
	if _, err := s.j.Commit(t.Context(), journal.Record{Kind: journal.Begun, Call: "a"}); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("beginning a call: %v", err)
	}
	free()
	if _, err := s.j.Commit(t.Context(), journal.Record{Kind: journal.Begun, Call: "a"}); err != nil {
		t.Errorf("beginning a call when there is space: %v", err)
	}
	s.close(t)
	n, err := openAgain(t, s)
	if err != nil || n < 22 {
		t.Fatalf("after space returned: %d rows, %v", n, err)
	}
	s = openState(t, s.dir)
	if err := s.db.Problem(); err != nil {
		t.Errorf("with space it says %v", err)
	}
}
