package eval_test

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"callgate/internal/search/eval"
	"callgate/tool"
)

// bm25 is the reference that proves the ruler: plain BM25 (k1 1.2, b 0.75) over
// name, description and parameter names, without stop words or stems.
type bm25 struct {
	ids   []string
	len   []float64
	mean  float64
	posts map[string][]post
}

type post struct {
	doc  int
	freq float64
}

func newBM25(tools []eval.Tool) *bm25 {
	x := &bm25{posts: map[string][]post{}}
	for i, t := range tools {
		freq := map[string]float64{}
		words := words(strings.Join(append([]string{t.Name, t.Description}, parameterNames(t.Parameters)...), " "))
		for _, w := range words {
			freq[w]++
		}
		for w, n := range freq {
			x.posts[w] = append(x.posts[w], post{i, n})
		}
		x.ids = append(x.ids, t.ID)
		x.len = append(x.len, float64(len(words)))
		x.mean += float64(len(words)) / float64(len(tools))
	}
	return x
}

func (x *bm25) search(query string, k int) []string {
	scores := make([]float64, len(x.ids))
	for _, w := range words(query) {
		of := x.posts[w]
		idf := math.Log(1 + (float64(len(x.ids)-len(of))+0.5)/(float64(len(of))+0.5))
		for _, p := range of {
			scores[p.doc] += idf * p.freq * 2.2 / (p.freq + 1.2*(0.25+0.75*x.len[p.doc]/x.mean))
		}
	}
	sorted := slices.Sorted(slices.Values(scores))
	enough := max(sorted[max(0, len(sorted)-k)], math.SmallestNonzeroFloat64)
	var docs []int
	for d, s := range scores {
		if s >= enough {
			docs = append(docs, d)
		}
	}
	slices.SortFunc(docs, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	var ids []string
	for _, d := range docs[:min(k, len(docs))] {
		ids = append(ids, x.ids[d])
	}
	return ids
}

// words cuts text into lower-case words: at what is no letter, digit or mark,
// between aB and before Bc, and runs of East Asian letters into pairs.
func words(text string) []string {
	var out []string
	var run []rune
	flush := func() {
		if len(run) > 1 && eastAsian(run[0]) {
			for i := range len(run) - 1 {
				out = append(out, string(run[i:i+2]))
			}
		} else if len(run) > 0 {
			out = append(out, strings.ToLower(string(run)))
		}
		run = run[:0]
	}
	runes := []rune(text)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			flush()
			continue
		}
		if len(run) > 0 {
			last := run[len(run)-1]
			hump := unicode.IsUpper(r) && (!unicode.IsUpper(last) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
			if hump || eastAsian(r) != eastAsian(last) {
				flush()
			}
		}
		run = append(run, r)
	}
	flush()
	return out
}

func eastAsian(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// parameterNames are the names of a schema's properties, at every depth.
func parameterNames(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage
		Items      json.RawMessage
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var out []string
	for name, sub := range s.Properties {
		out = append(append(out, name), parameterNames(sub)...)
	}
	return append(out, parameterNames(s.Items)...)
}

// shared is the folder of the public sets, above this one; the test skips
// where there is none.
func shared(t testing.TB) string {
	t.Helper()
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		dir := filepath.Join(at, "shared", "bench")
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		up := filepath.Dir(at)
		if up == at {
			t.Skip("needs ../shared/bench")
		}
		at = up
	}
}

// The baselines that the public sets are published with were made by another
// program. That this one comes to the same numbers proves the metrics.
func TestBaselines(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: thousands of queries")
	}
	dir := shared(t)
	for _, c := range []struct {
		set         string
		r1, r5, r10 float64
	}{
		{"metatool-dev", .295, .445, .531},
		{"bfcl-live", .496, .717, .787},
		{"sealtools-dev", .443, .769, .843},
		{"acebench-zh", .697, .907, .938},
		{"acebench-en", .793, .934, .953},
		{"mcpproxy-golden", .429, .681, .777},
	} {
		t.Run(c.set, func(t *testing.T) {
			set, err := eval.Load(filepath.Join(dir, c.set))
			if tool.KindOf(err) == tool.NotFound {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			r := eval.Run(set, newBM25(set.Tools).search)
			t.Logf("n %d, R@1 %.3f, R@5 %.3f, R@10 %.3f, nDCG@10 %.3f, MRR %.3f", r.N, r.Recall1, r.Recall5, r.Recall10,
				r.NDCG10, r.MRR)
			for _, v := range []struct{ got, want float64 }{{r.Recall1, c.r1}, {r.Recall5, c.r5}, {r.Recall10, c.r10}} {
				if math.Abs(v.got-v.want) > 0.01 {
					t.Errorf("got %.3f, want %.3f", v.got, v.want)
				}
			}
		})
	}
}

// BenchmarkLoad reads the largest of the public sets, thirteen thousand tools.
func BenchmarkLoad(b *testing.B) {
	dir := filepath.Join(shared(b), "mcp-catalog")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := eval.Load(dir); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRun is what the ruler itself costs a query: the searcher is free.
func BenchmarkRun(b *testing.B) {
	ids := after(40, "a")
	set := oneQuery(map[string]float64{"a": 1, "b": 2})
	b.ReportAllocs()
	for b.Loop() {
		eval.Run(set, always(ids...))
	}
}
