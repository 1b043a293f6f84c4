package journal_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/journal"
	"callgate/tool"
)

// advance moves the clock of a bubble, and waits until all that was due then has
// happened.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestOrder(t *testing.T) {
	store := &memory{}
	opts := options(t)
	j := open(t, store, opts)
	if err := j.Append(asked("a")); err != nil {
		t.Fatal(err)
	}
	first, err := j.Commit(t.Context(), begun("a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append(asked("b")); err != nil {
		t.Fatal(err)
	}
	second, err := j.Commit(t.Context(), ended("a"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"opened", "asked a", "begun a", "asked b", "ended a"}
	if diff := cmp.Diff(want, story(t, store)); diff != "" {
		t.Fatal(diff)
	}
	if first != 3 || second != 5 {
		t.Fatalf("commits were numbered %d and %d, want 3 and 5", first, second)
	}
	report := whole(t, store, opts)
	if report.Records != 5 || report.Epochs != 1 || !report.Anchored {
		t.Fatalf("report %+v", report)
	}
}

func TestReadSeesWhatWasNoted(t *testing.T) {
	j := open(t, &memory{}, journal.Options{Delay: time.Hour})
	if err := j.Append(asked("a")); err != nil {
		t.Fatal(err)
	}
	records, err := j.Read(t.Context(), journal.Query{Call: "a"})
	if err != nil || len(records) != 1 || records[0].Ask == nil || records[0].Seq != 2 {
		t.Fatalf("read %+v, %v", records, err)
	}
}

func TestNothingIsWrittenBeforeTheFirstRecord(t *testing.T) {
	store := &memory{}
	opts := options(t)
	j := open(t, store, opts)
	if _, err := j.Read(t.Context(), journal.Query{}); err != nil {
		t.Fatal(err)
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Prune(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, appends := store.count(); appends != 0 {
		t.Fatalf("a journal that was only read wrote %d times", appends)
	}
	for _, path := range []string{opts.Anchor, opts.KeyFile} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Fatalf("a journal that was only read left %s: %v", path, err)
		}
	}
}

// TestGroupCommit has 64 callers commit ten records each to a store that takes
// a millisecond for a sync. Alone that would be 640 syncs.
func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{slow: time.Millisecond}
		j := open(t, store, journal.Options{})
		var wg sync.WaitGroup
		for n := range 64 {
			wg.Go(func() {
				for range 10 {
					if _, err := j.Commit(context.Background(), begun(call(n))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if got := len(story(t, store)); got != 641 {
			t.Fatalf("%d rows, want 641", got)
		}
		if _, appends := store.count(); appends > 21 {
			t.Fatalf("%d syncs for 640 commits of 64 callers; sharing needs at most 21", appends)
		}
	})
}

func TestNotedRecordsWaitForCompany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		j := open(t, store, journal.Options{Delay: 20 * time.Millisecond})
		for n := range 100 {
			if err := j.Append(asked(call(n))); err != nil {
				t.Fatal(err)
			}
		}
		advance(19 * time.Millisecond)
		if _, appends := store.count(); appends != 0 {
			t.Fatal("noted records were written before their delay was over")
		}
		advance(time.Millisecond)
		if rows, appends := store.count(); appends != 1 || rows != 101 {
			t.Fatalf("%d rows in %d writes, want 101 in 1", rows, appends)
		}
		advance(time.Hour)
		if _, appends := store.count(); appends != 1 {
			t.Fatal("an idle journal wrote")
		}
	})
}

// TestNotedRecordsOfABusyJournalWaitForCompany notes a record in each millisecond, to a store that takes two for a
// write: what comes during a write waits as long as what comes before it. A commit does not wait.
func TestNotedRecordsOfABusyJournalWaitForCompany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{slow: 2 * time.Millisecond}
		j := open(t, store, journal.Options{Delay: 20 * time.Millisecond})
		for n := range 400 {
			if err := j.Append(asked(call(n))); err != nil {
				t.Fatal(err)
			}
			advance(time.Millisecond)
			if last, _ := j.Progress(); last < uint64(max(n-22, 0)) {
				t.Fatalf("after %d records, the last on disk is %d: one waited longer than it may", n+1, last)
			}
		}
		if _, appends := store.count(); appends > 20 {
			t.Errorf("%d writes in 400 ms, want one in 20 ms at most", appends)
		}
		if err := j.Append(asked("before")); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		commit(t, j, begun("at once"))
		if took := time.Since(began); took > 4*time.Millisecond {
			t.Errorf("a commit waited %v", took)
		}
	})
}

func TestCancelledCommitIsStillWritten(t *testing.T) {
	store := &memory{gate: make(chan struct{})}
	j := open(t, store, journal.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := j.Commit(ctx, ended("a"))
	isKind(t, err, tool.Cancelled)
	close(store.gate)
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := story(t, store); !slices.Contains(got, "ended a") {
		t.Fatalf("the record of a cancelled commit is missing: %v", got)
	}
}

func TestEpochsRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		opts := options(t)
		opts.MaxEpochRecords = 3
		opts.MaxEpochAge = time.Hour
		j := open(t, store, opts)
		commit(t, j, asked("a"), asked("b"), asked("c"))
		advance(time.Hour)
		commit(t, j, asked("d"))
		want := []string{"opened", "asked a", "asked b", "opened", "asked c", "opened", "asked d"}
		if diff := cmp.Diff(want, story(t, store)); diff != "" {
			t.Fatal(diff)
		}
		records, err := j.Read(t.Context(), journal.Query{Kind: journal.Opened})
		if err != nil {
			t.Fatal(err)
		}
		for i, rec := range records {
			if rec.Epoch != uint64(i+1) || rec.Opening.Start != (i == 0) || rec.Opening.Kernel != "test" {
				t.Errorf("opening %d is %+v of epoch %d", i, rec.Opening, rec.Epoch)
			}
		}
		if report := whole(t, store, opts); report.Epochs != 3 {
			t.Fatalf("%d epochs, want 3", report.Epochs)
		}
	})
}

func TestRecordThatJSONCannotCarry(t *testing.T) {
	store := &memory{}
	j := open(t, store, journal.Options{})
	bad := asked("a")
	bad.Ask.Args = json.RawMessage(`{"half":`)
	bad.Note = "as it came"
	commit(t, j, bad, ended("a"))
	records, err := j.Read(t.Context(), journal.Query{Kind: journal.Asked})
	if err != nil || len(records) != 1 {
		t.Fatalf("read %v, %v", records, err)
	}
	if rec := records[0]; rec.Call != "a" || rec.Ask != nil || !strings.HasSuffix(rec.Note, "as it came") ||
		!strings.Contains(rec.Note, "could not be written") {
		t.Fatalf("the record stands as %+v", rec)
	}
	whole(t, store, journal.Options{})
}

func TestClosedJournalRefuses(t *testing.T) {
	store := &memory{}
	j := open(t, store, journal.Options{Delay: time.Hour})
	if err := j.Append(asked("a")); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if got := story(t, store); len(got) != 2 {
		t.Fatalf("closing did not write what was noted: %v", got)
	}
	isKind(t, j.Append(asked("b")), tool.Unavailable)
	_, err := j.Commit(t.Context(), ended("b"))
	isKind(t, err, tool.Unavailable)
	isKind(t, j.Flush(t.Context()), tool.Unavailable)
	if err := j.Close(); err != nil {
		t.Fatalf("closing twice: %v", err)
	}
}

// TestCloseRace closes while others commit: a caller that got a number finds
// its record, and nobody waits for ever.
func TestCloseRace(t *testing.T) {
	for range 50 {
		store := &memory{}
		j := open(t, store, journal.Options{})
		var wg sync.WaitGroup
		var mu sync.Mutex
		told := map[string]bool{}
		for n := range 8 {
			wg.Go(func() {
				if _, err := j.Commit(context.Background(), ended(call(n))); err == nil {
					mu.Lock()
					told["ended "+call(n)] = true
					mu.Unlock()
				}
			})
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		got := story(t, store)
		for line := range told {
			if !slices.Contains(got, line) {
				t.Fatalf("%q was acknowledged and is missing from %v", line, got)
			}
		}
	}
}
