package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/internal/journal"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

func openBench(b *testing.B) (journal.Store, *journal.Journal) {
	b.Helper()
	dir := b.TempDir()
	db, err := sqlite.Open(b.Context(), filepath.Join(dir, "state.db"))
	if err != nil {
		b.Fatal(err)
	}
	j, err := journal.Open(b.Context(), db.Journal(), journal.Options{Anchor: filepath.Join(dir, "anchor"), Kernel: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		j.Close()
		db.Close()
	})
	return db.Journal(), j
}

var principal = &tool.Principal{User: "ada", App: "notes", Agent: "main", Session: "0197f3a2-6f0e-7c44-9c1b-3f3f3c1d2b10"}

// readRecord is what a read-only call leaves behind.
func readRecord(n uint64) journal.Record {
	return journal.Record{
		Kind: journal.Ended, Call: fmt.Sprintf("call-%016x", n), Principal: principal,
		Name: "filesystem.read", Tool: "filesystem:read@1.0.0",
		Ask: &journal.Ask{Verdict: journal.Allow, Args: json.RawMessage(`{"path":"internal/journal/record.go","offset":1,"limit":200}`)},
		End: &journal.End{Status: tool.Success, Summary: "read 114 lines", Took: 123456},
	}
}

func begunRecord(n uint64) journal.Record {
	return journal.Record{
		Kind: journal.Begun, Call: fmt.Sprintf("call-%016x", n), Principal: principal,
		Name: "filesystem.write", Tool: "filesystem:write@1.0.0",
		Ask: &journal.Ask{
			Verdict: journal.Allow,
			Args:    json.RawMessage(`{"path":"internal/journal/record.go","content":"package journal"}`),
			Claims:  []tool.Claim{{Resource: "file:/home/ada/notes/record.go", Mode: tool.U}},
		},
	}
}

// BenchmarkNote is what a read-only call pays. It notes in bursts, and the
// writer catches up off the clock: a caller that never paused would be held to
// the writer's pace.
func BenchmarkNote(b *testing.B) {
	_, j := openBench(b)
	rec := readRecord(1)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if err := j.Append(rec); err != nil {
			b.Fatal(err)
		}
		if n++; n%1000 == 0 {
			b.StopTimer()
			if err := j.Flush(context.Background()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}

// BenchmarkCommit is durable records per second with so many callers.
func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			_, j := openBench(b)
			b.ReportAllocs()
			var next atomic.Uint64
			var wg sync.WaitGroup
			total := uint64(b.N)
			b.ResetTimer()
			for range callers {
				wg.Go(func() {
					for n := next.Add(1); n <= total; n = next.Add(1) {
						if _, err := j.Commit(context.Background(), begunRecord(n)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkRawStore is what the store reaches by itself, a sync every so many
// rows, with rows of the same size.
func BenchmarkRawStore(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			store, j := openBench(b)
			if _, err := j.Commit(b.Context(), begunRecord(1)); err != nil {
				b.Fatal(err)
			}
			rows, err := store.Rows(b.Context(), journal.Query{Kind: journal.Begun})
			if err != nil || len(rows) != 1 {
				b.Fatal(rows, err)
			}
			seq := rows[0].Seq
			b.ReportAllocs()
			batch := make([]journal.Row, size)
			var total uint64
			for b.Loop() {
				for i := range batch {
					seq++
					batch[i] = rows[0]
					batch[i].Seq = seq
					batch[i].Call = fmt.Sprintf("call-%016x", seq)
				}
				if err := store.Append(context.Background(), batch); err != nil {
					b.Fatal(err)
				}
				total += uint64(size)
			}
			b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkOpen is what a process pays before its first call.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "state.db")
	b.ReportAllocs()
	for b.Loop() {
		db, err := sqlite.Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		j, err := journal.Open(b.Context(), db.Journal(), journal.Options{Anchor: path + ".anchor"})
		if err != nil {
			b.Fatal(err)
		}
		j.Close()
		db.Close()
	}
}
