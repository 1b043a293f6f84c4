package journal_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// days writes a journal of so many days, an epoch each, ten calls a day.
func days(t testing.TB, j *journal.Journal, n int) {
	t.Helper()
	for day := range n {
		for i := range 10 {
			name := call(100*day + i)
			rec := ended(name)
			rec.End.ResultRef = "sha256:" + name
			commit(t, j, begun(name), rec)
		}
		advance(24 * time.Hour)
	}
}

func TestRetain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		opts := options(t)
		j := open(t, store, opts)
		start := time.Now()
		days(t, j, 4)

		dropped, err := j.Prune(t.Context(), start.Add(48*time.Hour))
		if err != nil || len(dropped) != 1 {
			t.Fatalf("retain: %+v, %v", dropped, err)
		}
		s := dropped[0]
		if s.FromEpoch != 1 || s.ToEpoch != 2 || s.FirstSeq != 1 || s.LastSeq != 42 || s.Calls != 20 {
			t.Fatalf("the summary is %+v", s)
		}
		report := whole(t, store, opts)
		if report.First != 43 || report.Dropped != 42 {
			t.Fatalf("the report is %+v", report)
		}
		if got := story(t, store); got[len(got)-1] != "dropped" {
			t.Fatalf("no record tells of the drop: %v", got)
		}
		if none, err := j.Prune(t.Context(), start.Add(48*time.Hour)); err != nil || none != nil {
			t.Fatalf("retaining again: %v, %v", none, err)
		}

		// A second drop links to the first; the current epoch stays.
		if _, err := j.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if report := whole(t, store, opts); report.Epochs != 1 || report.Dropped != 84 {
			t.Fatalf("the report is %+v", report)
		}
		if info, err := os.Stat(opts.KeyFile); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("the key file: %v, %v", info, err)
		}

		// The chain goes on in another life.
		j.Close()
		commit(t, open(t, store, opts), asked("x"))
		whole(t, store, opts)
	})
}

func TestRetainKeepsUnresolvedDoubts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		j := open(t, store, options(t))
		days(t, j, 1)
		commit(t, j, begun("long"))
		days(t, j, 2)
		dropped, err := j.Prune(t.Context(), time.Now())
		if err != nil || len(dropped) != 1 || dropped[0].ToEpoch != 1 {
			t.Fatalf("with a call still open: %+v, %v", dropped, err)
		}
		commit(t, j, ended("long"))
		dropped, err = j.Prune(t.Context(), time.Now())
		if err != nil || len(dropped) != 1 || dropped[0].FromEpoch != 2 {
			t.Fatalf("when it has ended: %+v, %v", dropped, err)
		}
	})
}

// TestRetainKeepsTheStoryOfADoubt: a doubt that was told but not resolved keeps
// what led to it.
func TestRetainKeepsTheStoryOfADoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		opts := options(t)
		life(t, store, opts, func(j *journal.Journal) {
			days(t, j, 1)
			commit(t, j, asked("x"), begun("x"))
			days(t, j, 1)
		})
		j := open(t, store, opts)
		if diff := cmp.Diff([]string{"x"}, doubts(t, j)); diff != "" {
			t.Fatal(diff)
		}
		days(t, j, 2)
		dropped, err := j.Prune(t.Context(), time.Now())
		if err != nil || len(dropped) != 1 || dropped[0].ToEpoch != 1 {
			t.Fatalf("with a doubt that nobody resolved: %+v, %v", dropped, err)
		}
		if err := j.Resolve(t.Context(), "x", doubt.Resolution{By: "ada"}); err != nil {
			t.Fatal(err)
		}
		dropped, err = j.Prune(t.Context(), time.Now())
		if err != nil || len(dropped) != 1 || dropped[0].FromEpoch != 2 {
			t.Fatalf("when it is resolved: %+v, %v", dropped, err)
		}
		whole(t, store, opts)
	})
}

func TestRetainSignsForNothingBroken(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(*memory)
	}{
		{"changed", func(m *memory) { m.rows[30].Body[10] ^= 1 }},
		{"removed", func(m *memory) { m.rows = slices.Delete(m.rows, 30, 31) }},
		{"removed at the end of an epoch", func(m *memory) { m.rows = slices.Delete(m.rows, 40, 42) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memory{}
				j := open(t, store, options(t))
				days(t, j, 4)
				store.set(tt.damage)
				before, _ := store.count()
				dropped, err := j.Prune(t.Context(), time.Now())
				after, _ := store.count()
				isKind(t, err, tool.Internal)
				if after < before || len(dropped) > 0 {
					t.Fatalf("%d rows became %d: %+v", before, after, dropped)
				}
			})
		})
	}
}

func TestForgedSummary(t *testing.T) {
	for _, tt := range []struct {
		name  string
		forge func(*memory, *journal.PruneSummary)
		seq   uint64
		what  string
	}{
		{"one more record", func(m *memory, s *journal.PruneSummary) {
			s.LastSeq++
			s.Head = m.rows[0].Hash[:]
			m.rows = m.rows[1:]
		}, 1, "not signed"},
		{"fewer calls", func(m *memory, s *journal.PruneSummary) { s.Calls-- }, 1, "not signed"},
		{"no signature", func(m *memory, s *journal.PruneSummary) { s.Signature = nil }, 1, "not signed"},
		{"gone", func(m *memory, s *journal.PruneSummary) { m.drops = nil }, 1, "missing"},
		{"damaged", func(m *memory, s *journal.PruneSummary) { *s = journal.PruneSummary{} }, 1, "summary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memory{}
				opts := options(t)
				j := open(t, store, opts)
				days(t, j, 3)
				if _, err := j.Prune(t.Context(), time.Now().Add(-24*time.Hour)); err != nil {
					t.Fatal(err)
				}
				whole(t, store, opts)
				store.set(func(m *memory) { tt.forge(m, &m.drops[0]) })
				found(t, store, opts, tt.seq, tt.what)
			})
		})
	}
}

func TestSigningKey(t *testing.T) {
	drop := func(t *testing.T, opts journal.Options) error {
		var failed error
		synctest.Test(t, func(t *testing.T) {
			j := open(t, &memory{}, opts)
			days(t, j, 2)
			_, failed = j.Prune(t.Context(), time.Now())
		})
		return failed
	}
	t.Run("none", func(t *testing.T) { isKind(t, drop(t, journal.Options{}), tool.Invalid) })
	t.Run("not a key", func(t *testing.T) { isKind(t, drop(t, journal.Options{Key: []byte("short")}), tool.Invalid) })
	t.Run("damaged", func(t *testing.T) {
		opts := options(t)
		if err := os.WriteFile(opts.KeyFile, []byte("nonsense\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		isKind(t, drop(t, opts), tool.Invalid)
	})
	t.Run("readable by others", func(t *testing.T) {
		opts := options(t)
		if err := os.WriteFile(opts.KeyFile, bytes.Repeat([]byte("A"), 44), 0o644); err != nil {
			t.Fatal(err)
		}
		isKind(t, drop(t, opts), tool.Denied)
	})
	t.Run("lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := &memory{}
			opts := options(t)
			j := open(t, store, opts)
			days(t, j, 2)
			if _, err := j.Prune(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(opts.KeyFile); err != nil {
				t.Fatal(err)
			}
			found(t, store, opts, 1, "no key")
		})
	})
}

func TestRefs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := open(t, &memory{}, options(t))
		days(t, j, 2)
		rec := asked("big")
		rec.Ask.ArgsRef = "sha256:args"
		if err := j.Append(rec); err != nil {
			t.Fatal(err)
		}
		commit(t, j, journal.Record{Kind: journal.Answered, Answer: &journal.Answer{ArgsRef: "sha256:edited"}})
		if _, err := j.Prune(t.Context(), time.Now().Add(-24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for ref, err := range j.Refs(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ref)
		}
		if len(got) != 12 || got[0] != "sha256:c100" || got[10] != "sha256:args" || got[11] != "sha256:edited" {
			t.Fatalf("refs %v", got)
		}
	})
}
