package storagetest

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"callgate/internal/journal"
)

const (
	restarts = 4  // times that the database is opened
	writers  = 8  // that write at a time
	calls    = 15 // of each writer, in each start
)

// survivesRestarts runs a real journal on the driver through several starts. In
// each, writers make calls at once and leave one in doubt, while a follower
// goes on from the last number it saw. Then the chain must be whole, the
// follower must have seen every record once, and every doubt must be reported
// once.
func survivesRestarts(t *testing.T, open Open) {
	place, dir := t.TempDir(), t.TempDir()
	opts := journal.Options{Anchor: filepath.Join(dir, "anchor"), KeyFile: filepath.Join(dir, "key"), MaxEpochRecords: 100}
	var seen uint64
	doubted := map[string]int{}
	for n := range restarts {
		d := open(t, place)
		j, err := journal.Open(t.Context(), d.Stores().Journal, opts)
		if err != nil {
			t.Fatal(err)
		}
		doubts, err := j.Recover(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range doubts {
			doubted[rec.Call]++
		}
		var wg sync.WaitGroup
		wg.Go(func() { seen = follow(t, j, seen, seen+100) })
		for w := range writers {
			wg.Go(func() { makeCalls(t, j, fmt.Sprintf("%d/%d", n, w)) })
		}
		wg.Wait()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		seen = follow(t, j, seen, 0)
		report, err := journal.Verify(t.Context(), d.Stores().Journal, opts, nil)
		if err != nil || !report.OK() || report.Last != seen {
			t.Fatalf("start %d, followed to %d: %+v, %v", n, seen, report, err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for n := range restarts - 1 {
		for w := range writers {
			if name := fmt.Sprintf("%d/%d/open", n, w); doubted[name] != 1 {
				t.Errorf("call %s was doubted %d times", name, doubted[name])
			}
		}
	}
	if len(doubted) != (restarts-1)*writers {
		t.Errorf("%d calls were doubted, want %d", len(doubted), (restarts-1)*writers)
	}
}

// makeCalls makes calls and leaves one open.
func makeCalls(t *testing.T, j *journal.Journal, name string) {
	for n := range calls {
		rec := journal.Record{Kind: journal.Asked, Call: fmt.Sprintf("%s/%d", name, n)}
		if err := j.Append(rec); err != nil {
			t.Error(err)
		}
		for _, rec.Kind = range []journal.Kind{journal.Begun, journal.Ended} {
			if _, err := j.Commit(context.Background(), rec); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := j.Commit(context.Background(), journal.Record{Kind: journal.Begun, Call: name + "/open"}); err != nil {
		t.Error(err)
	}
}

// follow goes on from after, until the journal ends or a number is reached
// (0: none), and returns the last number it saw.
func follow(t *testing.T, j *journal.Journal, after, until uint64) uint64 {
	for rec, err := range j.Follow(context.Background(), after) {
		if err != nil {
			t.Error(err)
			return after
		}
		if rec.Seq != after+1 {
			t.Errorf("%d followed %d", rec.Seq, after)
		}
		if after = rec.Seq; after == until {
			return after
		}
	}
	return after
}
