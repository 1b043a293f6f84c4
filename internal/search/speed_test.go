//go:build unix

package search_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"callgate/internal/search"
)

// BenchmarkQuery makes real requests, one after the other. Its numbers are the medians of all, and
// the processor time of one.
func BenchmarkQuery(b *testing.B) {
	for _, n := range []int{1000, 13017, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, err := search.New(search.Options{Embedder: builtin(b)}).Catalog(b.Context(), realTools(b, n))
			if err != nil {
				b.Fatal(err)
			}
			texts := requests()
			took := make([]time.Duration, 0, len(texts))
			b.ReportAllocs()
			used := processorTime(b)
			for i := 0; b.Loop(); i++ {
				at := i % len(texts)
				start := time.Now()
				if _, err := c.Search(b.Context(), search.Request{Queries: texts[at : at+1]}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			used = processorTime(b) - used
			slices.Sort(took)
			ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
			b.ReportMetric(ms(took[len(took)/2]), "ms-p50")
			b.ReportMetric(ms(took[len(took)*95/100]), "ms-p95")
			b.ReportMetric(ms(used)/float64(len(took)), "ms-processor")
		})
	}
}

// processorTime is the time that all cores spent on this process.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkIndex(b *testing.B) {
	tools := realTools(b, 13017)
	embedder := builtin(b)
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			x := search.New(search.Options{Embedder: embedder, Cache: b.TempDir()})
			if err := x.Sync(b.Context(), tools); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cached", func(b *testing.B) {
		folder := b.TempDir()
		x := search.New(search.Options{Embedder: embedder, Cache: folder})
		if err := x.Sync(b.Context(), tools); err != nil {
			b.Fatal(err)
		}
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			x := search.New(search.Options{Embedder: embedder, Cache: folder})
			if err := x.Sync(b.Context(), tools); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ten more", func(b *testing.B) {
		x := search.New(search.Options{Embedder: embedder})
		if err := x.Sync(b.Context(), tools[:13007]); err != nil {
			b.Fatal(err)
		}
		for i := 0; b.Loop(); i++ {
			if err := x.Sync(b.Context(), tools[:13007+10*(i%2)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
