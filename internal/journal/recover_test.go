package journal_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/journal"
	"callgate/tool"
)

// doubts are the calls that Recover finds.
func doubts(t testing.TB, j *journal.Journal) []string {
	t.Helper()
	records, err := j.Recover(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, rec := range records {
		if rec.Kind != journal.Doubted || rec.Seq == 0 || rec.Epoch == 0 {
			t.Errorf("recover returned %+v", rec)
		}
		calls = append(calls, rec.Call)
	}
	return calls
}

// life opens a journal, runs f, and leaves as a crash would: without Close.
// (The writer stays behind, idle: everything is flushed, so it writes no more.)
func life(t testing.TB, store journal.Store, opts journal.Options, f func(*journal.Journal)) {
	t.Helper()
	j, err := journal.Open(context.Background(), store, opts)
	if err != nil {
		t.Fatal(err)
	}
	f(j)
	if err := j.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
}

func TestRecoverDoubtsOnce(t *testing.T) {
	store := &memory{}
	opts := options(t)
	opts.MaxEpochRecords = 4 // lives that span epochs
	life(t, store, opts, func(j *journal.Journal) {
		commit(t, j, begun("a"), begun("b"), ended("a"), begun("c"), begun("c"), begun("d"), asked("e"))
	})
	life(t, store, opts, func(j *journal.Journal) {
		if diff := cmp.Diff([]string{"b", "c", "d"}, doubts(t, j)); diff != "" {
			t.Fatal(diff)
		}
		if again := doubts(t, j); again != nil {
			t.Fatalf("the same life doubts %v again", again)
		}
		commit(t, j, begun("f"))
		if mine := doubts(t, j); mine != nil {
			t.Fatalf("a life doubts its own calls: %v", mine)
		}
	})
	life(t, store, opts, func(j *journal.Journal) {
		if diff := cmp.Diff([]string{"f"}, doubts(t, j)); diff != "" {
			t.Fatal(diff)
		}
	})
	life(t, store, opts, func(j *journal.Journal) {
		if again := doubts(t, j); again != nil {
			t.Fatalf("a later life doubts %v again", again)
		}
	})
	whole(t, store, opts)
}

func TestDoubtCarriesTheCall(t *testing.T) {
	store := &memory{}
	life(t, store, journal.Options{}, func(j *journal.Journal) { commit(t, j, begun("a")) })
	j := open(t, store, journal.Options{})
	records, err := j.Recover(t.Context())
	if err != nil || len(records) != 1 {
		t.Fatalf("recover: %v, %v", records, err)
	}
	rec := records[0]
	if rec.Tool != "notes:write@1.0.0" || rec.Name != "notes.write" || rec.Principal.User != "ada" || rec.End.Error != tool.InDoubt {
		t.Fatalf("the doubt is %+v", rec)
	}
}

// TestRecoverAfterLivesThatDidNot starts the kernel again and again without
// recovering: the doubts of all those lives are still found.
func TestRecoverAfterLivesThatDidNot(t *testing.T) {
	store := &memory{}
	opts := options(t)
	for n := range 4 {
		life(t, store, opts, func(j *journal.Journal) { commit(t, j, begun(call(n))) })
	}
	j := open(t, store, opts)
	commit(t, j, begun("mine")) // before recovering, as a kernel should not
	if diff := cmp.Diff([]string{"c0", "c1", "c2", "c3"}, doubts(t, j)); diff != "" {
		t.Fatal(diff)
	}
	life(t, store, opts, func(j *journal.Journal) {
		if diff := cmp.Diff([]string{"mine"}, doubts(t, j)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestRecoverLooksNoFurtherThanNeeded checks that a recovered life is where the
// next one begins to look: starting stays fast however long the journal is.
func TestRecoverLooksNoFurtherThanNeeded(t *testing.T) {
	store := &spy{memory: &memory{}}
	for n := range 3 {
		life(t, store, journal.Options{}, func(j *journal.Journal) {
			doubts(t, j)
			commit(t, j, begun(call(n)))
		})
	}
	// opened, begun c0 | opened, doubted c0, begun c1 | opened, doubted c1, begun c2
	if diff := cmp.Diff([]uint64{0, 1, 3}, store.from); diff != "" {
		t.Fatal(diff)
	}
}

// TestRecoverAfterALongLife: each epoch of a long life says from where on its
// calls may be open, so the next life need not look at all of it.
func TestRecoverAfterALongLife(t *testing.T) {
	store := &spy{memory: &memory{}}
	opts := journal.Options{MaxEpochRecords: 10}
	long := func(prefix string) func(*journal.Journal) {
		return func(j *journal.Journal) {
			doubts(t, j)
			for n := range 20 {
				commit(t, j, begun(prefix+call(n)), ended(prefix+call(n)))
			}
		}
	}
	life(t, store, opts, long("a"))
	life(t, store, opts, func(j *journal.Journal) {
		long("b")(j)
		commit(t, j, begun("server")) // open ever after
		long("c")(j)
	})
	life(t, store, opts, func(j *journal.Journal) {
		if diff := cmp.Diff([]string{"server"}, doubts(t, j)); diff != "" {
			t.Fatal(diff)
		}
	})
	opened, err := store.Rows(t.Context(), journal.Query{Kind: journal.Opened, Before: store.from[1] + 1, Newest: true, Limit: 1})
	if err != nil || len(opened) != 1 || opened[0].Seq != store.from[1] {
		t.Errorf("after a life that ended every call the next looks from %d, where no epoch opened", store.from[1])
	}
	server, err := store.Rows(t.Context(), journal.Query{Call: "server", Limit: 1})
	if err != nil || store.from[len(store.from)-1] != server[0].Seq {
		t.Errorf("a call open since %d has the next life look from %d", server[0].Seq, store.from[len(store.from)-1])
	}
}

type spy struct {
	*memory
	from []uint64
}

func (s *spy) Unended(ctx context.Context, from uint64) ([]journal.Row, error) {
	s.from = append(s.from, from)
	return s.memory.Unended(ctx, from)
}

func TestRecoverOnAFullDisk(t *testing.T) {
	store := &memory{}
	opts := options(t)
	life(t, store, opts, func(j *journal.Journal) { commit(t, j, begun("a"), begun("b")) })
	store.set(func(m *memory) { m.failAppend = errFull })
	j := open(t, store, opts)
	for range 3 {
		_, err := j.Recover(t.Context())
		isKind(t, err, tool.Unavailable)
	}
	store.set(func(m *memory) { m.failAppend = nil })
	commit(t, j, asked("c")) // opens the epoch without the doubts: it must not claim them settled
	life(t, store, opts, func(j *journal.Journal) {
		if diff := cmp.Diff([]string{"a", "b"}, doubts(t, j)); diff != "" {
			t.Fatal(diff)
		}
	})
	want := []string{"opened", "begun a", "begun b", "opened", "asked c", "opened", "doubted a", "doubted b"}
	if diff := cmp.Diff(want, story(t, store)); diff != "" {
		t.Fatal(diff)
	}
	whole(t, store, opts)
}
