package journal_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/journal"
)

// written is a store with two lives of records, and its options.
func written(t testing.TB) (*memory, journal.Options) {
	store := &memory{}
	opts := options(t)
	for n := range 2 {
		j, err := journal.Open(context.Background(), store, opts)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			commit(t, j, begun(call(10*n+i)), ended(call(10*n+i)))
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return store, opts
}

// found checks that verifying reports a problem at seq whose words contain what.
func found(t testing.TB, store journal.Store, opts journal.Options, seq uint64, what string) {
	t.Helper()
	report, err := journal.Verify(context.Background(), store, opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(report.Problems, func(p journal.Problem) bool { return p.Seq == seq && strings.Contains(p.What, what) }) {
		t.Fatalf("no problem %q at %d among %+v", what, seq, report.Problems)
	}
}

func TestVerifyFinds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(rows []journal.Row) []journal.Row
		seq    uint64
		what   string
	}{
		{"a changed body", func(r []journal.Row) []journal.Row { r[6].Body[20] ^= 1; return r }, 7, "changed"},
		{"a changed hash", func(r []journal.Row) []journal.Row { r[6].Hash[31] ^= 0x80; return r }, 7, "changed"},
		{"a changed last hash", func(r []journal.Row) []journal.Row { r[len(r)-1].Hash[0] ^= 1; return r }, 22, "changed"},
		{"a changed kind", func(r []journal.Row) []journal.Row { r[6].Kind = journal.Noted; return r }, 7, "kind"},
		{"a changed call", func(r []journal.Row) []journal.Row { r[6].Call = "c9"; return r }, 7, "call"},
		{"a changed epoch", func(r []journal.Row) []journal.Row { r[6].Epoch = 9; return r }, 7, "epoch"},
		{"a removed record", func(r []journal.Row) []journal.Row { return slices.Delete(r, 6, 7) }, 7, "missing"},
		{"removed records", func(r []journal.Row) []journal.Row { return slices.Delete(r, 6, 9) }, 7, "records 7 to 9 are missing"},
		{"a removed first record", func(r []journal.Row) []journal.Row { return r[1:] }, 1, "missing"},
		{"a cut tail", func(r []journal.Row) []journal.Row { return r[:len(r)-1] }, 22, "cut"},
		{"everything cut", func(r []journal.Row) []journal.Row { return nil }, 1, "cut"},
		{"swapped contents", func(r []journal.Row) []journal.Row {
			r[6].Body, r[7].Body = r[7].Body, r[6].Body
			return r
		}, 7, "changed"},
		{"swapped rows", func(r []journal.Row) []journal.Row {
			r[6], r[7] = r[7], r[6]
			r[6].Seq, r[7].Seq = 7, 8
			return r
		}, 7, "changed"},
		{"a row twice", func(r []journal.Row) []journal.Row { return slices.Insert(r, 6, r[6]) }, 7, "stands where"},
		{"an epoch without its opening", func(r []journal.Row) []journal.Row { return slices.Delete(r, 11, 12) }, 12, "missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store, opts := written(t)
			whole(t, store, opts)
			store.rows = tt.damage(store.rows)
			found(t, store, opts, tt.seq, tt.what)
		})
	}
}

func TestVerifyTellsProgress(t *testing.T) {
	store := &memory{}
	j := open(t, store, journal.Options{})
	for n := range 2500 {
		if err := j.Append(asked(call(n))); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var seen []uint64
	if _, err := journal.Verify(t.Context(), store, journal.Options{}, func(r journal.Report) { seen = append(seen, r.Last) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, []uint64{1000, 2000}) {
		t.Fatalf("progress at %v", seen)
	}
}

func TestAnchor(t *testing.T) {
	t.Run("missing", func(t *testing.T) {
		store, opts := written(t)
		if err := os.Remove(opts.Anchor); err != nil {
			t.Fatal(err)
		}
		found(t, store, opts, 0, "missing")
		commit(t, open(t, store, opts), asked("x"))
		found(t, store, opts, 23, "the anchor was missing") // and a new one does not hide it
	})
	t.Run("damaged", func(t *testing.T) {
		store, opts := written(t)
		if err := os.WriteFile(opts.Anchor, make([]byte, 1024), 0o600); err != nil {
			t.Fatal(err)
		}
		found(t, store, opts, 0, "missing or damaged")
	})
	t.Run("of another journal", func(t *testing.T) {
		store, opts := written(t)
		_, other := written(t)
		opts.Anchor = other.Anchor
		found(t, store, opts, 22, "not the one")
	})
	t.Run("torn", func(t *testing.T) {
		store, opts := written(t)
		data, err := os.ReadFile(opts.Anchor)
		if err != nil {
			t.Fatal(err)
		}
		for _, slot := range []int{0, 512} {
			torn := slices.Clone(data)
			torn[slot+30] ^= 1
			if err := os.WriteFile(opts.Anchor, torn, 0o600); err != nil {
				t.Fatal(err)
			}
			whole(t, store, opts) // the other slot is enough
		}
	})
	t.Run("behind", func(t *testing.T) {
		store, opts := written(t)
		old, err := os.ReadFile(opts.Anchor)
		if err != nil {
			t.Fatal(err)
		}
		j := open(t, store, opts)
		commit(t, j, asked("x"), asked("y"))
		j.Close()
		if err := os.WriteFile(opts.Anchor, old, 0o600); err != nil { // as after a power cut
			t.Fatal(err)
		}
		whole(t, store, opts)
		commit(t, open(t, store, opts), asked("z"))
		whole(t, store, opts)
	})
}

// TestCutBeforeStart cuts the tail while the kernel is away. It starts all the
// same, tells of it in the chain, and keeps the anchor that had seen more.
func TestCutBeforeStart(t *testing.T) {
	store, opts := written(t)
	anchored, err := os.ReadFile(opts.Anchor)
	if err != nil {
		t.Fatal(err)
	}
	store.rows = store.rows[:18]
	j := open(t, store, opts)
	found(t, store, opts, 19, "cut") // opening alone changed nothing
	for n := range 10 {              // and the store grows past the old anchor
		commit(t, j, asked(call(n)))
	}
	found(t, store, opts, 19, "the anchor had seen record 22, the store ended at 18")
	kept, err := os.ReadFile(opts.Anchor + ".cut-22")
	if err != nil || !slices.Equal(kept, anchored) {
		t.Fatalf("the evidence was not kept: %v", err)
	}
	records, err := j.Read(t.Context(), journal.Query{Kind: journal.Opened, Newest: true, Limit: 1})
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	if cut := records[0].Opening.Cut; cut == nil || cut.Anchor != 22 || cut.Head != 18 || records[0].Note == "" {
		t.Fatalf("the opening tells %+v, %q", records[0].Opening, records[0].Note)
	}

	// Without the record that tells of it the evidence still speaks.
	if err := os.WriteFile(filepath.Join(filepath.Dir(opts.Anchor), "anchor.cut-99"), anchored, 0o600); err != nil {
		t.Fatal(err)
	}
	store.rows = store.rows[:18]
	found(t, store, opts, 22, "was preserved")
}
