package lexical_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/search/lexical"
)

// bench returns the folder of the public sets, or skips: they are not part of
// the project.
func bench(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if found := filepath.Join(dir, "shared", "bench"); isDir(found) {
			return found
		}
	}
	tb.Skip("needs ../shared/bench")
	return ""
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// lines decodes each line of a file.
func lines[T any](tb testing.TB, name string, each func(T)) {
	tb.Helper()
	f, err := os.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewReader(f); ; {
		line, err := s.ReadBytes('\n')
		if len(line) > 0 {
			var v T
			if err := json.Unmarshal(line, &v); err != nil {
				tb.Fatalf("%s: %v", name, err)
			}
			each(v)
		}
		if err != nil {
			return
		}
	}
}

type benchTool struct {
	ID, Name, Description string
	Parameters            json.RawMessage
}

// benchDocs reads the tools of a set, and where each has its place.
func benchDocs(tb testing.TB, set string) ([]lexical.Doc, map[string]int) {
	tb.Helper()
	var docs []lexical.Doc
	at := map[string]int{}
	lines(tb, filepath.Join(bench(tb), set, "tools.jsonl"), func(t benchTool) {
		at[t.ID] = len(docs)
		docs = append(docs, lexical.Doc{Name: t.Name, Description: t.Description, Params: benchParams(t.Parameters, 0)})
	})
	return docs, at
}

// benchParams lists the parameters of a schema, inner ones after their owner.
func benchParams(raw json.RawMessage, depth int) []lexical.Param {
	var schema struct {
		Properties map[string]json.RawMessage
		Items      json.RawMessage
	}
	if depth > 5 || json.Unmarshal(raw, &schema) != nil {
		return nil
	}
	var params []lexical.Param
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		var about struct{ Description string }
		_ = json.Unmarshal(schema.Properties[name], &about) // a schema may be true
		params = append(params, lexical.Param{Name: name, Text: about.Description})
		params = append(params, benchParams(schema.Properties[name], depth+1)...)
	}
	return append(params, benchParams(schema.Items, depth+1)...)
}

type benchQuery struct {
	text string
	gold map[int]float64
}

func benchQueries(tb testing.TB, set string, at map[string]int) []benchQuery {
	tb.Helper()
	var queries []benchQuery
	place := map[string]int{}
	lines(tb, filepath.Join(bench(tb), set, "queries.jsonl"), func(q struct{ ID, Text string }) {
		place[q.ID] = len(queries)
		queries = append(queries, benchQuery{q.Text, map[int]float64{}})
	})
	lines(tb, filepath.Join(bench(tb), set, "qrels.jsonl"), func(r struct {
		Query, Tool string
		Rel         *float64
	}) {
		gain := 1.0
		if r.Rel != nil {
			gain = *r.Rel
		}
		queries[place[r.Query]].gold[at[r.Tool]] = gain
	})
	return queries
}

// ndcg is the gain of the first ten, discounted by place, beside the best
// possible. Of equals the earlier document stands first.
func ndcg(scores []float32, gold map[int]float64) float64 {
	discount := func(place int) float64 { return 1 / math.Log2(float64(place+2)) }
	var got, ideal float64
	for _, doc := range slices.Sorted(maps.Keys(gold)) {
		place := 0
		for other, s := range scores {
			if s > scores[doc] || s == scores[doc] && other < doc {
				place++
			}
		}
		if place < 10 && scores[doc] > 0 {
			got += gold[doc] * discount(place)
		}
	}
	gains := slices.Sorted(maps.Values(gold))
	slices.Reverse(gains)
	for place, gain := range gains[:min(10, len(gains))] {
		ideal += gain * discount(place)
	}
	return got / ideal
}

// On the public sets the ranking stays at what it has reached, and so above
// plain BM25 with stemming, whose number is given beside it.
func TestQuality(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: thousands of queries")
	}
	for set, want := range map[string]struct{ least, stemmedBM25 float64 }{
		"metatool-dev":    {.595, .550},
		"bfcl-live":       {.760, .684},
		"sealtools-dev":   {.918, .854},
		"acebench-zh":     {.948, .836},
		"acebench-en":     {.961, .934},
		"mcpproxy-golden": {.725, .649},
	} {
		t.Run(set, func(t *testing.T) {
			docs, at := benchDocs(t, set)
			queries := benchQueries(t, set, at)
			x := lexical.Build(lexical.Options{}, docs)
			var scores []float32
			var sum, known float64
			for _, b := range queries {
				q := x.Query(b.text)
				scores = q.Scores(scores)
				sum += ndcg(scores, b.gold)
				known += q.Known()
			}
			mean := sum / float64(len(queries))
			t.Logf("nDCG@10 %.4f (stemmed BM25 %.3f), known %.2f", mean, want.stemmedBM25, known/float64(len(queries)))
			if mean < want.least {
				t.Errorf("nDCG@10 %.4f is below %.3f", mean, want.least)
			}
		})
	}
}

// A query in a language that the catalog does not speak is recognised as one.
func TestKnownAcrossLanguages(t *testing.T) {
	mean := func(x *lexical.Index, queries []benchQuery) (sum float64) {
		for _, q := range queries {
			sum += x.Query(q.text).Known()
		}
		return sum / float64(len(queries))
	}
	english, atEnglish := benchDocs(t, "acebench-en")
	chinese, atChinese := benchDocs(t, "acebench-zh")
	x := lexical.Build(lexical.Options{}, english)
	own, other := mean(x, benchQueries(t, "acebench-en", atEnglish)), mean(x, benchQueries(t, "acebench-zh", atChinese))
	t.Logf("known of English queries %.2f, of Chinese ones %.2f; Chinese ones at home %.2f", own, other,
		mean(lexical.Build(lexical.Options{}, chinese), benchQueries(t, "acebench-zh", atChinese)))
	if own < 0.8 || other > 0.15 {
		t.Errorf("known of English queries %.2f, of Chinese ones %.2f", own, other)
	}
}

// typical returns queries of three to twelve words.
func typical(tb testing.TB) []string {
	tb.Helper()
	var texts []string
	for _, set := range []string{"metatool-dev", "bfcl-live", "sealtools-dev", "mcpproxy-golden"} {
		lines(tb, filepath.Join(bench(tb), set, "queries.jsonl"), func(q struct{ Text string }) {
			if n := len(strings.Fields(q.Text)); 3 <= n && n <= 12 {
				texts = append(texts, q.Text)
			}
		})
	}
	return texts
}
