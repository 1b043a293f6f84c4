//go:build unix

package search_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"

	"callgate/internal/search"
	"callgate/tool"
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

// BenchmarkIndex makes an index from nothing, and from its caches, up to its first answer.
func BenchmarkIndex(b *testing.B) {
	embedder := builtin(b)
	for _, n := range []int{1000, 13017, 100000} {
		tools, folder := realTools(b, n), b.TempDir()
		started(b, fmt.Sprint(n, "/cold"), tools, search.Options{Embedder: embedder}, func() string { return b.TempDir() })
		x := search.New(search.Options{Embedder: embedder, Cache: folder})
		if err := errors.Join(x.Sync(b.Context(), tools), x.Close()); err != nil {
			b.Fatal(err)
		}
		started(b, fmt.Sprint(n, "/cached"), tools, search.Options{Embedder: embedder}, func() string { return folder })
	}
	tools := realTools(b, 13017)
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

// started times how an index begins. Beside the time it has the processor time, and in the first
// round by how much the memory of the process has grown: at its first answer, and after what is no
// longer used was given back.
func started(b *testing.B, name string, tools []*tool.Tool, opts search.Options, folder func() string) {
	b.Run(name, func(b *testing.B) {
		debug.FreeOSMemory()
		before, most, kept := resident(b), 0.0, 0.0
		var used time.Duration
		rounds := 0
		for b.Loop() {
			opts.Cache = folder()
			used -= processorTime(b)
			x := search.New(opts)
			if err := x.Sync(b.Context(), tools); err != nil {
				b.Fatal(err)
			}
			c, err := x.Catalog(b.Context(), tools)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := c.Search(b.Context(), search.Request{Queries: queries[:1]}); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			used += processorTime(b)
			if rounds++; rounds == 1 {
				most = resident(b) - before
				debug.FreeOSMemory()
				kept = resident(b) - before
				runtime.KeepAlive(c)
			}
			if err := x.Close(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		b.ReportMetric(used.Seconds()*1000/float64(rounds), "ms-processor")
		b.ReportMetric(most, "MB-first")
		b.ReportMetric(kept, "MB-kept")
	})
}

// resident is the memory of this process in millions of bytes; 0 where the system does not say.
func resident(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		b.Fatal(err)
	}
	return float64(pages*os.Getpagesize()) / 1e6
}
