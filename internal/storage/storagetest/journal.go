package storagetest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/journal"
	"callgate/internal/storage"
	"callgate/tool"
)

// Journal tests a driver's journal.Store.
func Journal(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, storage.Driver){
		"KeepsEveryByte":     keepsEveryByte,
		"AppendsAllOrNone":   appendsAllOrNone,
		"KeepsNoBuffers":     keepsNoBuffers,
		"Queries":            queries,
		"ManyRows":           manyRows,
		"Unended":            unended,
		"Doubts":             doubts,
		"Drops":              drops,
		"LongCalls":          longCalls,
		"ReadsWhileItWrites": readsWhileItWrites,
		"HeedsContext":       heedsContext,
	})
	t.Run("Persists", func(t *testing.T) { journalPersists(t, open) })
	t.Run("CarriesAJournal", func(t *testing.T) { survivesRestarts(t, open) })
}

// row makes the row of that number.
func row(seq uint64, kind journal.Kind, call string) journal.Row {
	r := journal.Row{
		Seq: seq, Epoch: 1 + seq/10, Kind: kind, Call: call, Body: fmt.Appendf(nil, `{"seq":%d,"kind":%q}`, seq, kind),
	}
	r.Hash[0], r.Hash[31] = byte(seq), byte(seq>>8)
	return r
}

// mustAppend appends rows that must be taken.
func mustAppend(t *testing.T, s journal.Store, rows ...journal.Row) {
	t.Helper()
	if err := s.Append(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
}

// mustRows returns what a query finds.
func mustRows(t *testing.T, s journal.Store, q journal.Query) []journal.Row {
	t.Helper()
	rows, err := s.Rows(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// numbers are the numbers of rows.
func numbers(rows []journal.Row) []uint64 {
	seqs := []uint64{}
	for _, r := range rows {
		seqs = append(seqs, r.Seq)
	}
	return seqs
}

func keepsEveryByte(t *testing.T, d storage.Driver) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	var hash journal.Hash
	copy(hash[:], every[200:])
	want := []journal.Row{
		{Seq: 1, Epoch: 1, Kind: journal.Opened, Body: []byte("{}")},
		{Seq: 2, Epoch: 1, Kind: journal.Asked, Call: "café \x00 '; --", Body: every, Hash: hash},
		{Seq: 3, Epoch: math.MaxInt64, Kind: "strange", Call: " ", Body: bytes.Repeat(every, 4096), Hash: hash},
		{Seq: math.MaxInt64, Epoch: 2, Kind: journal.Ended, Call: "c", Body: []byte{0}, Hash: hash},
	}
	mustAppend(t, d.Stores().Journal, want...)
	if diff := cmp.Diff(want, mustRows(t, d.Stores().Journal, journal.Query{}), cmp.Comparer(bytes.Equal)); diff != "" {
		t.Fatal(diff)
	}
}

func appendsAllOrNone(t *testing.T, d storage.Driver) {
	s := d.Stores().Journal
	mustAppend(t, s, row(1, journal.Opened, ""), row(2, journal.Begun, "a"))
	for n := range 40 { // short and long, with the offending row at the end
		var rows []journal.Row
		for i := range n {
			rows = append(rows, row(uint64(10+i), journal.Asked, "b"))
		}
		err := s.Append(t.Context(), append(rows, row(2, journal.Ended, "a")))
		if tool.KindOf(err) != tool.Conflict {
			t.Fatalf("a number that is taken: %v, want a conflict", err)
		}
		if got := numbers(mustRows(t, s, journal.Query{})); len(got) != 2 {
			t.Fatalf("a refused append of %d rows left %v", n+1, got)
		}
	}
	mustAppend(t, s, row(3, journal.Ended, "a"))
	if err := s.Append(t.Context(), nil); err != nil {
		t.Fatalf("appending nothing: %v", err)
	}
}

// keepsNoBuffers: the journal uses its buffers again.
func keepsNoBuffers(t *testing.T, d storage.Driver) {
	rows := []journal.Row{row(1, journal.Opened, "")}
	want := bytes.Clone(rows[0].Body)
	mustAppend(t, d.Stores().Journal, rows...)
	clear(rows[0].Body)
	got := mustRows(t, d.Stores().Journal, journal.Query{})
	clear(got[0].Body)
	if got := mustRows(t, d.Stores().Journal, journal.Query{}); !bytes.Equal(got[0].Body, want) {
		t.Fatalf("the body became %q", got[0].Body)
	}
}

func queries(t *testing.T, d storage.Driver) {
	s := d.Stores().Journal
	mustAppend(t, s,
		row(1, journal.Opened, ""),
		row(2, journal.Asked, "a"), row(3, journal.Begun, "a"), row(4, journal.Asked, "b"),
		row(5, journal.Ended, "a"), row(6, journal.Opened, ""), row(7, journal.Doubted, "b"),
		row(8, journal.Begun, "c.2"), row(9, "strange", ""))
	for _, tt := range []struct {
		name  string
		query journal.Query
		want  []uint64
	}{
		{"all", journal.Query{}, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"after", journal.Query{After: 7}, []uint64{8, 9}},
		{"before", journal.Query{Before: 3}, []uint64{1, 2}},
		{"between", journal.Query{After: 3, Before: 6}, []uint64{4, 5}},
		{"after the end", journal.Query{After: 9}, []uint64{}},
		{"after every number", journal.Query{After: math.MaxUint64}, []uint64{}},
		{"before every number", journal.Query{After: 8, Before: math.MaxUint64}, []uint64{9}},
		{"limit", journal.Query{After: 2, Limit: 3}, []uint64{3, 4, 5}},
		{"newest", journal.Query{Newest: true, Limit: 2}, []uint64{8, 9}},
		{"newest before", journal.Query{Newest: true, Limit: 2, Before: 5}, []uint64{3, 4}},
		{"newest of all", journal.Query{Newest: true}, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"call", journal.Query{Call: "a"}, []uint64{2, 3, 5}},
		{"newest of a call", journal.Query{Call: "a", Newest: true, Limit: 1}, []uint64{5}},
		{"no such call", journal.Query{Call: "A"}, []uint64{}},
		{"calls that a call made", journal.Query{Within: "c"}, []uint64{8}},
		{"not the call itself, nor one like it", journal.Query{Within: "c.2"}, []uint64{}},
		{"none", journal.Query{Within: "b"}, []uint64{}},
		{"asked", journal.Query{Kind: journal.Asked}, []uint64{2, 4}},
		{"begun", journal.Query{Kind: journal.Begun}, []uint64{3, 8}},
		{"ended", journal.Query{Kind: journal.Ended}, []uint64{5}},
		{"opened", journal.Query{Kind: journal.Opened}, []uint64{1, 6}},
		{"newest opened", journal.Query{Kind: journal.Opened, Newest: true, Limit: 1}, []uint64{6}},
		{"a kind of tomorrow", journal.Query{Kind: "strange"}, []uint64{9}},
		{"call and kind", journal.Query{Call: "b", Kind: journal.Doubted}, []uint64{7}},
		{"every field", journal.Query{After: 2, Before: 6, Call: "a", Kind: journal.Begun, Newest: true, Limit: 5}, []uint64{3}},
	} {
		if diff := cmp.Diff(tt.want, numbers(mustRows(t, s, tt.query))); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// manyRows: a query is bounded, a drop is not.
func manyRows(t *testing.T, d storage.Driver) {
	var rows []journal.Row
	for seq := range uint64(journal.MaxRows + 5) {
		rows = append(rows, row(seq+1, journal.Asked, "a"))
	}
	mustAppend(t, d.Stores().Journal, rows...)
	for _, limit := range []int{0, journal.MaxRows + 1} {
		got := mustRows(t, d.Stores().Journal, journal.Query{Limit: limit})
		if len(got) != journal.MaxRows || got[0].Seq != 1 {
			t.Errorf("limit %d gave %d rows", limit, len(got))
		}
	}
	if got := mustRows(t, d.Stores().Journal, journal.Query{Newest: true}); got[0].Seq != 6 {
		t.Errorf("the newest begin at %d, want 6", got[0].Seq)
	}
	summary := journal.PruneSummary{FirstSeq: 1, LastSeq: journal.MaxRows}
	if err := d.Stores().Journal.Drop(t.Context(), summary); err != nil {
		t.Fatal(err)
	}
	if got := numbers(mustRows(t, d.Stores().Journal, journal.Query{})); len(got) != 5 || got[0] != journal.MaxRows+1 {
		t.Errorf("after the drop there are %v", got)
	}
}

func unended(t *testing.T, d storage.Driver) {
	s := d.Stores().Journal
	mustAppend(t, s,
		row(1, journal.Begun, "ended"), row(2, journal.Begun, "open"), row(3, journal.Begun, "doubted"),
		row(4, journal.Ended, "ended"), row(5, journal.Doubted, "doubted"),
		row(6, journal.Ended, "again"), row(7, journal.Begun, "again"), // an end before the beginning is of another time
		row(8, journal.Asked, "asked"), row(9, journal.Begun, "asked"), row(10, journal.Noted, "asked"))
	for from, want := range map[uint64][]uint64{0: {2, 7, 9}, 1: {2, 7, 9}, 2: {2, 7, 9}, 3: {7, 9}, 9: {9}, 10: {}} {
		rows, err := s.Unended(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, numbers(rows)); diff != "" {
			t.Errorf("from %d: %s", from, diff)
		}
		if len(rows) > 0 && !bytes.Equal(rows[len(rows)-1].Body, row(9, journal.Begun, "asked").Body) {
			t.Errorf("the last row is %+v", rows[len(rows)-1])
		}
	}
}

func drops(t *testing.T, d storage.Driver) {
	s := d.Stores().Journal
	for seq := range uint64(9) {
		mustAppend(t, s, row(seq+1, journal.Asked, "a"))
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	first := journal.PruneSummary{
		FromEpoch: 1, ToEpoch: 2, FirstSeq: 1, LastSeq: 3, Calls: 2, From: at, To: at.Add(time.Hour),
		Before: make([]byte, 32), Head: bytes.Repeat([]byte{7}, 32), At: at.Add(2 * time.Hour), Signature: []byte("signed"),
	}
	second := first
	second.FirstSeq, second.LastSeq, second.Before = 4, 6, first.Head
	for _, summary := range []journal.PruneSummary{first, second} {
		if err := s.Drop(t.Context(), summary); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]uint64{7, 8, 9}, numbers(mustRows(t, s, journal.Query{}))); diff != "" {
		t.Error(diff)
	}
	kept, err := s.Drops(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]journal.PruneSummary{first, second}, kept); diff != "" {
		t.Error(diff)
	}
	if err := s.Drop(t.Context(), second); err == nil {
		t.Error("the same rows were dropped twice")
	}
	mustAppend(t, s, row(10, journal.Asked, "a"))
}

// readsWhileItWrites: a reader sees whole appends, in order, and never waits
// for the writer.
func readsWhileItWrites(t *testing.T, d storage.Driver) {
	s := d.Stores().Journal
	const appends, size = 40, 5
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for seen := uint64(0); seen < appends*size; {
				rows, err := s.Rows(context.Background(), journal.Query{After: seen})
				if err != nil {
					t.Error(err)
					return
				}
				for _, r := range rows {
					if r.Seq != seen+1 {
						t.Errorf("%d followed %d", r.Seq, seen)
						return
					}
					seen = r.Seq
				}
				if seen%size != 0 {
					t.Errorf("saw %d rows: half an append", seen)
					return
				}
			}
		})
	}
	for n := range uint64(appends) {
		var rows []journal.Row
		for i := range uint64(size) {
			rows = append(rows, row(n*size+i+1, journal.Asked, "a"))
		}
		mustAppend(t, s, rows...)
	}
	wg.Wait()
}

func heedsContext(t *testing.T, d storage.Driver) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Stores().Journal.Rows(ctx, journal.Query{}); tool.KindOf(err) != tool.Cancelled {
		t.Errorf("reading for nobody: %v, want kind cancelled", err)
	}
	err := d.Stores().Journal.Append(ctx, []journal.Row{row(1, journal.Opened, "")})
	isKind(t, "writing for nobody", err, tool.Cancelled)
	if got := mustRows(t, d.Stores().Journal, journal.Query{}); len(got) != 0 {
		t.Errorf("a refused append left %v", got)
	}
}

func journalPersists(t *testing.T, open Open) {
	place := t.TempDir()
	want := []journal.Row{row(2, journal.Opened, ""), row(3, journal.Begun, "a")}
	d := open(t, place)
	mustAppend(t, d.Stores().Journal, row(1, journal.Opened, ""))
	mustAppend(t, d.Stores().Journal, want...)
	if err := d.Stores().Journal.Drop(t.Context(), journal.PruneSummary{FirstSeq: 1, LastSeq: 1}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, place)
	defer d.Close()
	if diff := cmp.Diff(want, mustRows(t, d.Stores().Journal, journal.Query{})); diff != "" {
		t.Fatal(diff)
	}
	if kept, err := d.Stores().Journal.Drops(t.Context()); err != nil || len(kept) != 1 {
		t.Fatalf("summaries: %v, %v", kept, err)
	}
}
