package embed_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"callgate/internal/search/embed"
	"callgate/internal/search/embed/tokenizer"
)

// requests are of five to fifteen words, in several scripts.
var requests = []struct{ name, text string }{
	{"english", "please find the cheapest flight from Berlin to Lisbon next Friday morning"},
	{"german", "erstelle eine neue Aufgabe für morgen früh und erinnere mich daran"},
	{"russian", "переведи этот документ на английский и отправь его по почте"},
	{"chinese", "帮我查一下明天上海的天气，然后把结果发给我的同事"},
	{"thai", "ช่วยค้นหาไฟล์ทั้งหมดที่แก้ไขเมื่อวานนี้และย้ายไปยังโฟลเดอร์ใหม่"},
	{"arabic", "أرسل رسالة إلى فريق العمل بخصوص اجتماع الغد"},
}

func BenchmarkEmbed(b *testing.B) {
	m := builtin(b)
	for _, r := range requests {
		b.Run(r.name, func(b *testing.B) {
			dst := make([]float32, m.Dim())
			b.ReportAllocs()
			for b.Loop() {
				dst = m.Embed(dst, r.text)
			}
		})
	}
}

func BenchmarkTokenize(b *testing.B) {
	tok := builtinTokenizer(b)
	for _, r := range requests {
		b.Run(r.name, func(b *testing.B) {
			var dst []int32
			b.ReportAllocs()
			for b.Loop() {
				dst = tok.Append(dst[:0], r.text)
			}
		})
	}
}

// Everything that Builtin does once.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := embed.LoadBuiltin(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(heapOf(func() any { m, _ := embed.LoadBuiltin(); return m })/1e6, "MB-kept")
}

func heapOf(load func() any) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := load()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

// A whole catalog, as at the first start.
func BenchmarkCatalog(b *testing.B) {
	m, texts := builtin(b), catalog(b)
	dst := make([]float32, m.Dim())
	b.ReportAllocs()
	for b.Loop() {
		for _, text := range texts {
			dst = m.Embed(dst, text)
		}
	}
	b.ReportMetric(float64(len(texts)), "texts")
}

func BenchmarkCatalogTokenize(b *testing.B) {
	tok, texts := builtinTokenizer(b), catalog(b)
	var dst []int32
	pieces := 0
	b.ReportAllocs()
	for b.Loop() {
		pieces = 0
		for _, text := range texts {
			dst = tok.Append(dst[:0], text)
			pieces += len(dst)
		}
	}
	b.ReportMetric(float64(pieces), "pieces")
}

// catalog is the name and description of each tool of the public catalog.
func catalog(tb testing.TB) []string {
	tb.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "..", "shared", "bench", "mcp-catalog", "tools.jsonl"))
	if err != nil {
		tb.Skip("needs ../shared/bench/mcp-catalog: ", err)
	}
	defer f.Close()
	var texts []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var t struct{ Name, Description string }
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			tb.Fatal(err)
		}
		texts = append(texts, t.Name+" "+t.Description)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return texts
}

func builtin(tb testing.TB) *embed.Static {
	tb.Helper()
	m, err := embed.Builtin()
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func builtinTokenizer(tb testing.TB) *tokenizer.Tokenizer {
	tb.Helper()
	text, err := embed.ReadTokenizer("multilingual")
	if err != nil {
		tb.Fatal(err)
	}
	t, err := tokenizer.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}
