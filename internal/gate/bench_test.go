//go:build unix

package gate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/gate"
	"callgate/internal/journal"
	"callgate/internal/observe"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

// typical is a tool's schema of ordinary size, and a call that meets it.
const (
	typical = `{"type":"object","additionalProperties":false,"required":["path","query"],"properties":{
		"path":{"type":"string","description":"where to look"},
		"query":{"type":"string","minLength":1},
		"limit":{"type":"integer","minimum":1,"maximum":1000},
		"mode":{"enum":["content","files","count"]},
		"globs":{"type":"array","items":{"type":"string"}},
		"options":{"type":"object","properties":{"case":{"type":"boolean"},"context":{"type":"integer"}}}}}`
	typicalArgs = `{"path":"internal/arbiter","query":"func .*Door","limit":50,"mode":"content","globs":["*.go","*.md"],"options":{"case":true,"context":2}}`
)

func noop(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
	return &tool.Result{Status: tool.Success, Summary: "done"}, nil
}

// BenchmarkMachine is what the machine itself can do: an append that is on disk.
func BenchmarkMachine(b *testing.B) {
	b.Run("append+fsync-4KiB", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "log"))
		ok(b, err)
		defer f.Close()
		page := make([]byte, 4096)
		for b.Loop() {
			if _, err := f.Write(page); err != nil {
				b.Fatal(err)
			}
			ok(b, f.Sync())
		}
	})
}

// BenchmarkRead is the door's cost for a read that does nothing, beside what
// decoding and validating the same arguments costs alone. The difference in
// one run is the door's overhead in the caller's goroutine; the process pays
// for the record written behind as well (see the user time that the benchmark
// script reports).
func BenchmarkRead(b *testing.B) {
	b.Run("decode+validate", func(b *testing.B) {
		c := jsonschema.NewCompiler()
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(typical)))
		ok(b, err)
		ok(b, c.AddResource("mem:s", doc))
		s, err := c.Compile("mem:s")
		ok(b, err)
		b.ReportAllocs()
		defer processTime(b)()
		for b.Loop() {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(typicalArgs)))
			if err != nil || s.Validate(v) != nil {
				b.Fatal("the arguments should be valid")
			}
		}
	})
	for name, ctx := range map[string]context.Context{
		"door": b.Context(), "door with its span recorded": observe.With(b.Context(), noRecorder{}),
	} {
		b.Run(name, func(b *testing.B) { benchmarkDoor(b, ctx) })
	}
}

// noRecorder takes spans, and does nothing with them.
type noRecorder struct{}

func (noRecorder) Ended(*observe.Span) {}

func benchmarkDoor(b *testing.B, ctx context.Context) {
	h := open(b, gate.Limits{})
	h.add(b, "bench:read@1.0.0", typical, reads, noop)
	ask := gate.CallRequest{Name: "bench.read", Args: json.RawMessage(typicalArgs)}
	b.ReportAllocs()
	defer processTime(b)()
	for b.Loop() {
		if r := h.Call(ctx, h.caller(), ask); r.Status != tool.Success {
			b.Fatal(r.Summary)
		}
	}
	b.StopTimer()
	ok(b, h.Journal.Flush(b.Context()))
}

// BenchmarkWrite is durable calls per second, and the rows they write, beside
// what the bare store does with group commit in the same run.
func BenchmarkWrite(b *testing.B) {
	const rowsPerCall = 3 // asked, begun, ended
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("door/callers=%d", callers), func(b *testing.B) {
			h := open(b, gate.Limits{})
			h.add(b, "bench:write@1.0.0", typical, writes, noop)
			ask := gate.CallRequest{Name: "bench.write", Args: json.RawMessage(typicalArgs)}
			b.ResetTimer()
			spread(callers, b.N, func() {
				if r := h.Call(b.Context(), h.caller(), ask); r.Status != tool.Success {
					b.Error(r.Summary)
				}
			})
			b.ReportMetric(float64(b.N*rowsPerCall)/b.Elapsed().Seconds(), "rows/s")
		})
	}
	b.Run("rawstore/batch=64", func(b *testing.B) {
		db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "raw.db"))
		ok(b, err)
		defer db.Close()
		store := db.Journal()
		body := []byte(
			fmt.Sprintf(
				`{"seq":1,"epoch":1,"time":"2026-01-01T00:00:00Z","kind":"asked","call":"c0","name":"bench.write","tool":"bench:write@1.0.0","ask":{"verdict":"allow","args":%s}}`,
				typicalArgs,
			),
		)
		rows := make([]journal.Row, 64)
		seq := uint64(0)
		b.ResetTimer()
		for written := 0; written < b.N; written += len(rows) {
			for i := range rows {
				seq++
				rows[i] = journal.Row{Seq: seq, Epoch: 1, Kind: journal.Asked, Call: fmt.Sprint("c", seq/rowsPerCall), Body: body}
			}
			ok(b, store.Append(b.Context(), rows))
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}

// processTime reports the processor time of the whole process per operation.
func processTime(b *testing.B) func() {
	used := func() int64 {
		var u syscall.Rusage
		ok(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

// spread shares n runs of f between callers.
func spread(callers, n int, f func()) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for next.Add(1) <= int64(n) {
				f()
			}
		})
	}
	wg.Wait()
}
