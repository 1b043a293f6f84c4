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

// load reads a dataset, or skips the test where its tools are missing.
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

// measure runs each engine on a dataset.
func measure(t *testing.T, set *eval.Set) map[string]eval.Report {
	t.Helper()
	plainOnly(t)
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

// TestQuality compares the engine on the public development sets with their BM25
// baselines.
func TestQuality(t *testing.T) {
	if _, err := os.Stat(shared); err != nil {
		t.Skip("needs ../shared/bench: search quality is not measured")
	}
	if testing.Short() {
		t.Skip("left out by -short: thousands of queries")
	}
	baseline := map[string]float64{ // nDCG@10 that must be beaten
		"metatool-dev": .550 * 1.08, "bfcl-live": .684, "sealtools-dev": .854,
		"acebench-zh": .836, "acebench-en": .934, "mcpproxy-golden": .649 * 1.15,
	}
	for name, least := range baseline {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := measure(t, load(t, filepath.Join(shared, name)))
			t.Logf("nDCG@10: keywords %.3f, meaning %.3f, both %.3f; to beat %.3f",
				r["keywords"].NDCG10, r["meaning"].NDCG10, r["both"].NDCG10, least)
			if r["both"].NDCG10 <= least {
				t.Errorf("nDCG@10 %.3f does not beat %.3f", r["both"].NDCG10, least)
			}
		})
	}
}

// TestAcrossLanguages makes 91 requests in 15 forms, over 606 tools of which
// nearly all are described in English.
func TestAcrossLanguages(t *testing.T) {
	r := measure(t, load(t, "testdata/crosslang"))["both"]
	sum, n := 0.0, 0.0
	for lang, scores := range r.Langs {
		t.Logf("%-8s right tool in the first five: %.2f", lang, scores.Hit5)
		if lang != "en" && lang != "keywords" {
			sum += scores.Hit5
			n++
		}
	}
	if n < 10 || sum/n < .88 {
		t.Errorf("%.3f over %v languages, want .88 over at least ten", sum/n, n)
	}
	if en := r.Langs["en"].Hit5; en < .91 {
		t.Errorf("paraphrase %.3f, want .91", en)
	}
	if kw := r.Langs["keywords"].Hit5; kw < .95 {
		t.Errorf("keywords %.3f, want .95", kw)
	}
}

// TestSituations makes the same requests indirectly, by describing a situation.
// That takes knowledge of the world, of which this engine has little. The test
// notices a change for the worse.
func TestSituations(t *testing.T) {
	r := measure(t, load(t, "testdata/situations"))
	t.Logf("right tool in the first five: keywords %.3f, both %.3f", r["keywords"].Hit5, r["both"].Hit5)
	if r["both"].Hit5 < .71 {
		t.Errorf("%.3f", r["both"].Hit5)
	}
}
