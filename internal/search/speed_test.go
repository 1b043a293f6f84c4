package search_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/search"
	"callgate/internal/search/bench"
	"callgate/tool"
)

// realTools returns n tools of the public catalog, repeated under other names
// where it has fewer.
func realTools(b *testing.B, n int) []*tool.Tool {
	b.Helper()
	if _, err := os.Stat(shared); err != nil {
		b.Skip("the catalog of real tools is not beside the project")
	}
	base := bench.Tools(load(b, filepath.Join(shared, "mcp-catalog")))
	tools := make([]*tool.Tool, 0, n)
	for i := 0; len(tools) < n; i++ {
		t := *base[i%len(base)]
		if round := i / len(base); round > 0 {
			t.ID.Namespace += fmt.Sprint("_", round)
		}
		tools = append(tools, &t)
	}
	return tools
}

var queries = []string{
	"send a message to a channel", "list open pull requests of a repository", "wie wird das Wetter morgen in Berlin",
	"convert a pdf to text", "查询数据库中的表", "crée un ticket pour ce bug et attribue-le à Marie", "price of bitcoin",
	"delete file", "find flights from Paris to New York next Friday and book the cheapest one",
	"トランザクションを一覧表示", "run sql", "add two numbers",
}

func BenchmarkQuery(b *testing.B) {
	for _, n := range []int{13017, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, err := search.New(search.Options{Embedder: builtin(b)}).Catalog(b.Context(), realTools(b, n))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				at := i % len(queries)
				if _, err := c.Search(b.Context(), search.Request{Queries: queries[at : at+1]}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
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
