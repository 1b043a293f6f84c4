package markdown_test

import (
	"testing"

	"callgate/internal/markdown"
)

func BenchmarkFromHTML(b *testing.B) {
	for _, c := range []struct {
		name string
		size int
		opt  markdown.Options
	}{
		{"100KB/main", 100 << 10, markdown.Options{Main: true}},
		{"1MB/main", 1 << 20, markdown.Options{Main: true}},
		{"1MB/whole", 1 << 20, markdown.Options{}},
		{"1MB/plain", 1 << 20, markdown.Options{Plain: true}},
	} {
		source, base := []byte(article(c.size)), here(b)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(source)))
			for b.Loop() {
				if _, err := markdown.FromHTML(source, base, c.opt); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
