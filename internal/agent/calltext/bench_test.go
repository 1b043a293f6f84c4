package calltext_test

import (
	"strings"
	"testing"

	"callgate/internal/agent/calltext"
)

const prose = `The gate decides, locks, acts and records. A model proposes a call; the
kernel resolves it, checks it, and answers in words that the model can act on.
Nothing in these lines begins a call, and most of what a model says is like them.

`

// BenchmarkPlain parses text without marks, whole and in pieces as small as a model's
// tokens.
func BenchmarkPlain(b *testing.B) {
	text := strings.Repeat(prose, 1<<20/len(prose))
	b.Run("whole", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			calltext.Parse(text, known)
		}
	})
	b.Run("tokens", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			p := calltext.Parser{Known: known}
			for i := 0; i < len(text); i += 4 {
				p.Write(text[i:min(i+4, len(text))])
			}
			p.Close()
		}
	})
}

// BenchmarkCode parses a program with its brackets.
func BenchmarkCode(b *testing.B) {
	const line = "func f(m map[string][]int) { for k, v := range m { if v[0] < 3 { m[k] = append(v, 1) } } }\n"
	text := strings.Repeat(line, 1<<13)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		calltext.Parse(text, known)
	}
}

// BenchmarkCall parses one call of common size, in tokens.
func BenchmarkCall(b *testing.B) {
	text := "I write it.\n" +
		"<tool_call>{\"name\": \"write_file\", \"arguments\": {\"path\": \"a.go\", \"text\": \"" +
		strings.Repeat("package a // words ", 100) + "\"}}</tool_call>"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		p := calltext.Parser{Known: known}
		for i := 0; i < len(text); i += 4 {
			p.Write(text[i:min(i+4, len(text))])
		}
		if _, calls := p.Close(); len(calls) != 1 {
			b.Fatal("the call was not found")
		}
	}
}
