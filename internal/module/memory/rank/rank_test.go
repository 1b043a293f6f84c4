package rank_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module"
	"callgate/internal/module/memory/rank"
	"callgate/internal/search/embed"
)

// builtin is the embedding model of the kernel.
type builtin struct{ *embed.Static }

func (m builtin) Vectors(texts []string) ([][]float32, error) {
	all := make([][]float32, len(texts))
	for i, t := range texts {
		all[i] = m.Embed(nil, t)
	}
	return all, nil
}

func model(t testing.TB) module.Embedder {
	t.Helper()
	m, err := embed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return builtin{m}
}

var facts = []string{
	"The deploy command is make ship",
	"The user prefers short answers",
	"Integration tests need a running postgres on port 5433",
	"The customer is based in Lyon and speaks French",
	"Invoices are generated on the first day of the month",
	"API errors are logged to logs/api.log",
	"The old parser lives in src/legacy and must not be touched",
	"Ada reviews every pull request before it is merged",
	"The cat of the office is called Turing",
	"Releases are tagged from the branch stable",
}

func TestRank(t *testing.T) {
	byMeaning, byWords := rank.New(model(t)), rank.New(nil)
	for _, c := range []struct {
		question       string
		meaning, words int // the first answer; -1: none
	}{
		{"how do I deploy", 0, 0},
		{"comment déployer l'application", 0, 0},
		{"qui relit les pull requests", 7, 7},
		{"where can I find the log of failures", 5, 5},
		{"quand les factures sont-elles créées", 4, -1},
		{"pet", 8, -1},
		{"how long should my replies be", 1, -1},
		{"postgres", 2, 2},
		{"api.log", 5, 5},
		{"quantum chromodynamics", -1, -1},
		{"recipe for apple pie", -1, -1},
		{"the of and", -1, -1},
	} {
		for _, r := range []struct {
			name   string
			ranker *rank.Ranker
			want   int
		}{{"meaning", byMeaning, c.meaning}, {"words", byWords, c.words}} {
			a := r.ranker.Rank(c.question, facts)
			got := -1
			if len(a.Hits) > 0 {
				got = a.Hits[0].At
			}
			if got != r.want || a.Semantic != (r.name == "meaning") || a.Problem != nil {
				t.Errorf("%q by %s: %d (%+v), want %d", c.question, r.name, got, a, r.want)
			}
		}
	}
}

type broken struct {
	vectors [][]float32
	err     error
}

func (b broken) Vectors([]string) ([][]float32, error) { return b.vectors, b.err }

// Where the embedder fails, words decide.
func TestEmbedderFails(t *testing.T) {
	want := rank.New(nil).Rank("deploy", facts).Hits
	for name, m := range map[string]module.Embedder{
		"error":   broken{err: errors.New("no model today")},
		"too few": broken{vectors: [][]float32{{1}}},
	} {
		r := rank.New(m)
		a := r.Rank("deploy", facts)
		if a.Semantic || a.Problem == nil || cmp.Diff(want, a.Hits) != "" {
			t.Errorf("%s: %+v", name, a)
		}
		if pairs := r.SimilarPairs(facts, 0); pairs != nil {
			t.Errorf("%s: pairs %v", name, pairs)
		}
	}
}

func TestSimilarPairs(t *testing.T) {
	r := rank.New(model(t))
	pairs := r.SimilarPairs([]string{
		"The deploy command is make ship", "The cat is called Turing", "Command for deployment: make ship",
	}, 0.8)
	if len(pairs) != 1 || pairs[0].A != 0 || pairs[0].B != 2 {
		t.Errorf("%+v", pairs)
	}
}

// The model ignores the order of words, which is why no text is dropped for its
// meaning alone.
func TestMeaningIsNotIdentity(t *testing.T) {
	pairs := rank.New(model(t)).SimilarPairs([]string{"alice manages bob", "bob manages alice"}, 0.95)
	if len(pairs) != 1 {
		t.Errorf("the model tells them apart now (%+v): compact may do more", pairs)
	}
}

func TestManyAtOnce(t *testing.T) {
	r := rank.New(model(t))
	want := rank.New(model(t)).Rank("deploy", facts)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if diff := cmp.Diff(want, r.Rank("deploy", facts)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkRank5000(b *testing.B) {
	var many []string
	for i := range 5_000 {
		other := strings.Repeat(facts[(i*7)%len(facts)]+" ", 5)
		many = append(many, fmt.Sprintf("note %d: %s; see also %s", i, facts[i%len(facts)], other))
	}
	for name, m := range map[string]module.Embedder{"words": nil, "meaning": model(b)} {
		b.Run(name+"/cold", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rank.New(m).Rank("how do I deploy", many)
			}
		})
		b.Run(name+"/warm", func(b *testing.B) {
			r := rank.New(m)
			r.Rank("how do I deploy", many)
			b.ReportAllocs()
			for b.Loop() {
				r.Rank("how do I deploy", many)
			}
		})
	}
}
