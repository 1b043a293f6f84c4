package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/artifact"
	"callgate/internal/journal"
	"callgate/internal/storage/sqlite"
)

// openAgain opens a state directory, reads its journal, and closes it again.
func openAgain(t *testing.T, s *state) (int, error) {
	db, err := sqlite.Open(t.Context(), s.path())
	if err != nil {
		return 0, err
	}
	defer db.Close()
	rows, err := db.Journal().Rows(t.Context(), journal.Query{})
	return len(rows), err
}

// crashDir names the directory in which the child of TestCrash writes.
const crashDir = "CALLGATE_CRASH_DIR"

// TestCrash kills a process that commits, as hard as can be, and looks for
// every record whose number it had printed.
func TestCrash(t *testing.T) {
	if dir := os.Getenv(crashDir); dir != "" {
		crashChild(t, dir)
		return
	}
	dir := t.TempDir()
	told := map[uint64]string{}
	for life := range 3 {
		child := exec.Command(os.Args[0], "-test.run=^TestCrash$")
		child.Env = append(os.Environ(), crashDir+"="+dir)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			number, call, ok := strings.Cut(lines.Text(), " ")
			seq, err := strconv.ParseUint(number, 10, 64)
			if !ok || err != nil {
				t.Fatalf("the child says %q", lines.Text())
			}
			told[seq] = call
			if n == 100+50*life {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = child.Wait() // killed
	}
	s := openState(t, dir)
	doubts, err := s.j.Recover(t.Context())
	if err != nil || len(doubts) == 0 {
		t.Fatalf("doubts after a crash: %v, %v", doubts, err)
	}
	for seq, call := range told {
		records, err := s.j.Read(t.Context(), journal.Query{After: seq - 1, Before: seq + 1})
		if err != nil || len(records) != 1 || records[0].Call != call {
			t.Fatalf("record %d of call %s was acknowledged; there is %v, %v", seq, call, records, err)
		}
	}
	if report := verify(t, s); !report.OK() || len(told) < 300 {
		t.Fatalf("after three crashes: %d told, %+v", len(told), report.Problems)
	}
}

// crashChild commits until it is killed.
func crashChild(t *testing.T, dir string) {
	s := openState(t, dir)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				call := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, n)
				seq, err := s.j.Commit(context.Background(), journal.Record{Kind: journal.Begun, Call: call})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				fmt.Printf("%d %s\n", seq, call)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// TestRetentionAndCollection drops old epochs from a real file and collects
// the artifacts that only they had named.
func TestRetentionAndCollection(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large, err := artifact.Open(filepath.Join(dir, "artifacts"))
	if err != nil {
		t.Fatal(err)
	}
	refs := map[string]bool{}
	put := func(text string) string {
		ref, err := large.Put(t.Context(), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		refs[ref] = true
		return ref
	}
	var old, young string
	for life := range 2 { // an epoch each
		s := openState(t, dir)
		ref := put(fmt.Sprintf("result of life %d", life))
		if life == 0 {
			old = ref
		} else {
			young = ref
		}
		if _, err := s.j.Commit(t.Context(), journal.Record{Kind: journal.Ended, Call: "a", End: &journal.End{ResultRef: ref}}); err != nil {
			t.Fatal(err)
		}
		s.close(t)
	}
	put("stored and never named")

	s := openState(t, dir)
	dropped, err := s.j.Prune(t.Context(), time.Now())
	if err != nil || len(dropped) != 1 || dropped[0].ToEpoch != 1 {
		t.Fatalf("dropped %+v, %v", dropped, err)
	}
	live := map[string]bool{}
	for ref, err := range s.j.Refs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		live[ref] = true
	}
	removed, err := large.DeleteUnused(t.Context(), func(ref string) bool { return live[ref] }, time.Now().Add(time.Minute))
	if err != nil || removed.Count != 2 {
		t.Fatalf("collected %+v, %v", removed, err)
	}
	if _, err := large.Get(t.Context(), young); err != nil {
		t.Error(err)
	}
	if _, err := large.Get(t.Context(), old); err == nil {
		t.Error("an artifact that nothing names is still there")
	}
	s.close(t)
	if report := verify(t, s); !report.OK() || report.Dropped != 2 {
		t.Fatalf("after the drop: %+v", report)
	}
}
