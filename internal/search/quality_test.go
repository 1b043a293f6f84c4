package search_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/search"
	"callgate/internal/search/bench"
	"callgate/internal/search/embed"
	"callgate/internal/search/eval"
	"callgate/internal/search/eval/evaltest"
)

const shared = "../../../shared/bench"

func builtin(t testing.TB) search.Embedder {
	t.Helper()
	m, err := embed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return search.Static{Model: m}
}

// load reads a dataset, or skips where its tools are not at hand.
func load(t testing.TB, dir string) *eval.Set {
	t.Helper()
	set, err := evaltest.Load(dir)
	if errors.Is(err, evaltest.ErrToolsAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// try returns what each engine is worth on a dataset.
func try(t *testing.T, set *eval.Set) map[string]eval.Report {
	t.Helper()
	engines, err := bench.Engines(t.Context(), set, builtin(t))
	if err != nil {
		t.Fatal(err)
	}
	reports := map[string]eval.Report{}
	for _, e := range engines {
		reports[e.Name] = eval.Run(set, e.Search)
	}
	return reports
}

// TestQuality holds what is found on the public development sets against the
// BM25 baselines that are given with them.
func TestQuality(t *testing.T) {
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the public datasets are not beside the project: quality is not measured")
	}
	if testing.Short() {
		t.Skip("it takes a while")
	}
	baseline := map[string]float64{ // nDCG@10 that must be beaten
		"metatool-dev": .550 * 1.08, "bfcl-live": .684, "sealtools-dev": .854,
		"acebench-zh": .836, "acebench-en": .934, "mcpproxy-golden": .649 * 1.15,
	}
	for name, least := range baseline {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := try(t, load(t, filepath.Join(shared, name)))
			t.Logf("nDCG@10: keywords %.3f, meaning %.3f, both %.3f; to beat %.3f", r["keywords"].NDCG10, r["meaning"].NDCG10, r["both"].NDCG10, least)
			if r["both"].NDCG10 <= least {
				t.Errorf("nDCG@10 %.3f does not beat %.3f", r["both"].NDCG10, least)
			}
		})
	}
}

// TestAcrossLanguages asks for 91 things in 15 ways, over 606 tools that are
// described in English but for a few.
func TestAcrossLanguages(t *testing.T) {
	r := try(t, load(t, "testdata/crosslang"))["both"]
	sum, n := 0.0, 0.0
	for lang, scores := range r.Langs {
		t.Logf("%-8s right tool in the first five: %.2f", lang, scores.Hit5)
		if lang != "en" && lang != "keywords" {
			sum += scores.Hit5
			n++
		}
	}
	if n < 10 || sum/n < .80 {
		t.Errorf("%.3f over %v languages, want .80 over at least ten", sum/n, n)
	}
	if en := r.Langs["en"].Hit5; en < .75 {
		t.Errorf("paraphrase %.3f, want .75", en)
	}
	if kw := r.Langs["keywords"].Hit5; kw < .95 {
		t.Errorf("keywords %.3f, want .95", kw)
	}
}

// TestSituations asks for the same things by telling of a situation, which
// takes knowledge of the world that this engine has little of. It is here so
// that nobody makes it worse unawares.
func TestSituations(t *testing.T) {
	r := try(t, load(t, "testdata/situations"))
	t.Logf("right tool in the first five: keywords %.3f, both %.3f", r["keywords"].Hit5, r["both"].Hit5)
	if r["both"].Hit5 < .60 {
		t.Errorf("%.3f", r["both"].Hit5)
	}
}
