package journal

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"callgate/tool"
)

// chained is a chain of n records, as the writer makes them.
func chained(n int) []Row {
	w := &writer{opts: Options{Kernel: "test"}.withDefaults()}
	var b batch
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for i := range n - 1 {
		rec := Record{
			Time:      now.Add(time.Duration(i) * time.Microsecond),
			Kind:      Begun,
			Call:      fmt.Sprintf("call-%06d", i/2),
			Tool:      "notes:write@1.0.0",
			Principal: &tool.Principal{User: "ada", Session: "s1"},
		}
		if i%2 == 1 {
			rec.Kind, rec.End = Ended, &End{Status: tool.Success, Summary: "wrote 3 lines", Took: time.Millisecond}
		}
		b.entries = append(b.entries, entry{rec: rec})
	}
	w.encode(b)
	return w.rows
}

// TestEveryFlippedByteShows flips each byte of the body, of the hash and of
// each column of each of 10,000 records, one at a time.
func TestEveryFlippedByteShows(t *testing.T) {
	rows := chained(10_000)
	if len(rows) != 10_000 {
		t.Fatalf("%d rows", len(rows))
	}
	var wg sync.WaitGroup
	const shards = 4
	for shard := range shards {
		wg.Go(func() {
			for i := shard * stride; i < len(rows); i += shards * stride {
				var prev Hash
				if i > 0 {
					prev = rows[i-1].Hash
				}
				if what := flips(prev, rows[i]); what != "" {
					t.Errorf("record %d: %s", rows[i].Seq, what)
					return
				}
			}
		})
	}
	wg.Wait()
}

// flips returns the first flip of a bit in each byte of row that check misses.
func flips(prev Hash, row Row) string {
	if what := check(prev, row); what != "" {
		return "the true record is refused: " + what
	}
	flipped := func(where string, i int) string {
		if check(prev, row) == "" {
			return fmt.Sprintf("a flip in byte %d of the %s went unnoticed", i, where)
		}
		return ""
	}
	body := append([]byte{}, row.Body...)
	row.Body = body
	for i := range body {
		body[i] ^= 1 << (i % 8)
		if what := flipped("body", i); what != "" {
			return what
		}
		body[i] ^= 1 << (i % 8)
	}
	for i := range row.Hash {
		row.Hash[i] ^= 1 << (i % 8)
		if what := flipped("hash", i); what != "" {
			return what
		}
		row.Hash[i] ^= 1 << (i % 8)
	}
	for i := range 8 {
		for _, column := range []*uint64{&row.Seq, &row.Epoch} {
			*column ^= 1 << (8*i + i%8)
			if what := flipped("numbers", i); what != "" {
				return what
			}
			*column ^= 1 << (8*i + i%8)
		}
	}
	kind, call := row.Kind, row.Call
	for i := range kind {
		row.Kind = Kind(flip(string(kind), i))
		if what := flipped("kind", i); what != "" {
			return what
		}
	}
	row.Kind = kind
	for i := range call {
		row.Call = flip(call, i)
		if what := flipped("call", i); what != "" {
			return what
		}
	}
	return ""
}

func flip(s string, i int) string {
	b := []byte(s)
	b[i] ^= 1 << (i % 8)
	return string(b)
}
