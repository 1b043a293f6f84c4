package lexical_test

import (
	"runtime"
	"testing"

	"callgate/internal/search/lexical"
)

const bigCatalog = "mcp-catalog" // 13,017 tools

// many repeats docs until there are n.
func many(docs []lexical.Doc, n int) []lexical.Doc {
	out := make([]lexical.Doc, 0, n)
	for len(out) < n {
		out = append(out, docs[:min(len(docs), n-len(out))]...)
	}
	return out
}

func BenchmarkBuild(b *testing.B) {
	docs, _ := benchDocs(b, bigCatalog)
	kept := heap(func() any { return lexical.Build(lexical.Options{}, docs) })
	b.ReportAllocs()
	for b.Loop() {
		lexical.Build(lexical.Options{}, docs)
	}
	b.ReportMetric(kept, "MB-kept")
}

// heap is how much memory a value keeps, in millions of bytes.
func heap(make func() any) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	v := make()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(v)
	return (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / 1e6
}

func BenchmarkAppend10(b *testing.B) {
	docs, _ := benchDocs(b, bigCatalog)
	x := lexical.Build(lexical.Options{}, docs)
	b.ReportAllocs()
	for b.Loop() {
		x.Append(docs[:10])
	}
}

// BenchmarkGrow appends ten at a time, with the merges that come of it.
func BenchmarkGrow(b *testing.B) {
	docs, _ := benchDocs(b, bigCatalog)
	x := lexical.Build(lexical.Options{}, docs)
	grown := x
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if grown.Len() > 20000 {
			grown = x
		}
		grown = grown.Append(docs[i*10%10000:][:10])
	}
}

func BenchmarkRemove10(b *testing.B) {
	docs, _ := benchDocs(b, bigCatalog)
	x := lexical.Build(lexical.Options{}, docs)
	b.ReportAllocs()
	for b.Loop() {
		x.Remove([]int{1, 500, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 12000})
	}
}

func BenchmarkQuery(b *testing.B) {
	docs, _ := benchDocs(b, bigCatalog)
	x, texts := lexical.Build(lexical.Options{}, docs), typical(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		x.Query(texts[i%len(texts)])
	}
}

func BenchmarkQueryAndScores(b *testing.B) {
	docs, _ := benchDocs(b, bigCatalog)
	texts := typical(b)
	for name, x := range map[string]*lexical.Index{
		"13k": lexical.Build(lexical.Options{}, docs),
		"13k in 5 pieces": lexical.Build(lexical.Options{},
			docs[:9000]).Append(docs[9000:12000]).Append(docs[12000:12700]).Append(docs[12700:13000]).Append(docs[13000:]),
		"100k": lexical.Build(lexical.Options{}, many(docs, 100000)),
	} {
		b.Run(name, func(b *testing.B) {
			var scores []float32
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				scores = x.Query(texts[i%len(texts)]).Scores(scores)
			}
		})
	}
}

func BenchmarkWhy(b *testing.B) {
	docs, _ := benchDocs(b, bigCatalog)
	x, texts := lexical.Build(lexical.Options{}, docs), typical(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		x.Query(texts[i%len(texts)]).Why(i % len(docs))
	}
}
