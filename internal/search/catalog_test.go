package search_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/internal/search/bench"
	"callgate/tool"

	"github.com/klauspost/compress/zstd"
)

// realTools returns n tools: those of the public catalog, and variations of them where it has
// fewer. A variation belongs to another server, and has other words in the place of some of its
// own: most of them words of other tools, a few that no other tool has. So the vocabulary grows
// with the tools, more slowly than they do.
func realTools(tb testing.TB, n int) []*tool.Tool {
	tb.Helper()
	if _, err := os.Stat(shared); err != nil {
		tb.Skip("needs ../shared/bench/mcp-catalog")
	}
	base := bench.Tools(load(tb, filepath.Join(shared, "mcp-catalog")))
	return variations(base, n)
}

func variations(base []*tool.Tool, n int) []*tool.Tool {
	r := rand.New(rand.NewPCG(uint64(len(base)), 22))
	var words []string
	for _, t := range base {
		words = append(words, strings.Fields(t.Spec.Description)...)
	}
	tools := make([]*tool.Tool, 0, n)
	for len(tools) < n {
		t := *base[len(tools)%len(base)]
		if round := len(tools) / len(base); round > 0 {
			t.ID.Namespace = fmt.Sprint(t.ID.Namespace, "_", syllables(round, t.ID.Namespace))
			if r.IntN(2) == 0 {
				t.ID.Name += "_" + plain(words[r.IntN(len(words))])
			}
			own := strings.Fields(t.Spec.Description)
			for i := range own {
				switch p := r.IntN(100); {
				case p < 2:
					own[i] = syllables(r.IntN(1<<16), own[i])
				case p < 20:
					own[i] = words[r.IntN(len(words))]
				}
			}
			t.Spec.Description = strings.Join(own, " ")
			t.Spec.Input = append(json.RawMessage(nil), t.Spec.Input...)
		}
		tools = append(tools, &t)
	}
	return tools
}

// syllables is a word of its own for a number and a text.
func syllables(n int, text string) string {
	for _, c := range text {
		n = n*31 + int(c)
	}
	var word strings.Builder
	for n &= 1<<24 - 1; n > 0; n /= 80 {
		word.WriteByte("bcdfgklmnprstvwz"[n%16])
		word.WriteByte("aeiou"[n/16%5])
	}
	return word.String()
}

// plain is the letters of a word, or a word of its own.
func plain(word string) string {
	word = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(word))
	if word == "" {
		return "other"
	}
	return word
}

var queries = []string{
	"send a message to a channel", "list open pull requests of a repository", "wie wird das Wetter morgen in Berlin",
	"convert a pdf to text", "查询数据库中的表", "crée un ticket pour ce bug et attribue-le à Marie", "price of bitcoin",
	"delete file", "find flights from Paris to New York next Friday and book the cheapest one",
	"トランザクションを一覧表示", "run sql", "add two numbers",
}

// requests returns queries that people might make: one in eight of those that were written for real
// tools, of all four kinds and in all languages, in a mixed order; every tenth is a long one, made
// of several. Where there are none, queries stand in.
var requests = sync.OnceValue(func() []string {
	packed, err := os.Open(filepath.Join(shared, "../model/requests/requests.tsv.zst"))
	if err != nil {
		return queries
	}
	defer packed.Close()
	unpacked, err := zstd.NewReader(packed)
	if err != nil {
		return queries
	}
	defer unpacked.Close()
	var all strings.Builder
	if _, err := unpacked.WriteTo(&all); err != nil {
		return queries
	}
	lines := strings.Split(strings.TrimSpace(all.String()), "\n")
	r := rand.New(rand.NewPCG(22, 22))
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	texts := make([]string, len(lines)/8)
	for i := range texts {
		texts[i] = lines[i][strings.LastIndexByte(lines[i], '\t')+1:]
		if i%10 == 9 {
			texts[i] = strings.Join(texts[i-9:i+1], ". ")
		}
	}
	return texts
})
