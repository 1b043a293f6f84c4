package search_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/search"
)

// hostileQueries are texts that nobody means, of up to a million bytes.
func hostileQueries() map[string]string {
	const large = 1 << 20
	r := rand.New(rand.NewPCG(22, 3))
	words := make([]string, 100_000)
	for i := range words {
		words[i] = syllables(r.IntN(1<<24), fmt.Sprint(i))
	}
	random := make([]byte, large)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	return map[string]string{
		"a long sentence":      strings.Repeat("read the file and send it to my team ", large/37),
		"100,000 words":        strings.Join(words, " "),
		"long unknown words":   strings.ReplaceAll(strings.Join(words, ""), "a", "a "),
		"no spaces":            strings.Repeat("readthefile", large/11),
		"one letter":           strings.Repeat("a", large),
		"case that changes":    strings.Repeat("aB", large/2),
		"digits":               strings.Repeat("1a2", large/3),
		"only spaces, a word":  strings.Repeat(" \n\t", 1000) + "weather",
		"not UTF-8":            string(random),
		"cut characters":       strings.Repeat("\xe5\xa4", large/2),
		"emoji":                strings.Repeat("👩‍👩‍👧‍👦🏳️‍🌈", large/40),
		"Chinese":              strings.Repeat("查询数据库中的表并发送邮件", large/39),
		"Korean":               strings.Repeat("날씨를알려주세요", large/24),
		"accents on one":       "e" + strings.Repeat("\u0301", large/2),
		"zero bytes":           strings.Repeat("\x00a", large/2),
		"dots and dashes":      strings.Repeat("a.b-c_", large/6),
		"one phrase repeated":  strings.Repeat("pull request ", large/13),
		"foreign, with a stop": strings.Repeat("supprimer les fichiers du dossier ", large/34),
	}
}

// A query is read up to its limit, and never refused.
func TestAHostileQueryIsClipped(t *testing.T) {
	t.Parallel()
	c := catalog(t, search.New(search.Options{Embedder: builtin(t)}), fixture())
	for name, text := range hostileQueries() {
		t.Run(name, func(t *testing.T) {
			r := find(t, c, search.Request{Queries: []string{text}})
			if len(r.Answers) != 1 || len(r.Answers[0].Query) > 4000 || !utf8.ValidString(r.Answers[0].Query) {
				t.Fatalf("%d answers, the first to %d bytes", len(r.Answers), len(r.Answers[0].Query))
			}
			again := find(t, c, search.Request{Queries: []string{r.Answers[0].Query}})
			if r.Answers[0].Total != again.Answers[0].Total || len(r.Answers[0].Hits) != len(again.Answers[0].Hits) {
				t.Errorf("%d tools, and %d for what was read of it", r.Answers[0].Total, again.Answers[0].Total)
			}
		})
	}
}

// BenchmarkHostile times the same texts over 13,017 tools.
func BenchmarkHostile(b *testing.B) {
	c, err := search.New(search.Options{Embedder: builtin(b)}).Catalog(b.Context(), realTools(b, 13017))
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range hostileQueries() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Search(b.Context(), search.Request{Queries: []string{text}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
