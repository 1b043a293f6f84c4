package eval_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/search/eval"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with the file of that name in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), string(got)); diff != "" {
		t.Errorf("%s (-want +got), -update writes it anew:\n%s", name, diff)
	}
}

// report makes a report whose means are all alike but for nDCG@10.
func report(set, engine string, n int, mean, ndcg float64, p50 time.Duration) eval.Named {
	return eval.Named{Set: set, Engine: engine, Report: eval.Report{Scores: eval.Scores{
		N: n, Hit1: mean, Hit5: mean, Recall1: mean, Recall5: mean, Recall10: mean, NDCG5: mean, NDCG10: ndcg, MRR: mean,
		Latency: eval.Latency{P50: p50, P90: 2 * p50, P99: 15 * p50},
	}}}
}

// drawn has what a drawing can stumble over: names to escape and to cut, a
// tie, sets that come apart, an engine that is missing, a set without queries.
func drawn() []eval.Named {
	return []eval.Named{
		report("everyday", "lexical", 2000, 0.5, 0.55, 87*time.Microsecond),
		report("functions", "lexical", 1351, 0.6, 0.684, 120*time.Microsecond),
		report("everyday", "semantic", 2000, 0.7, 0.71234, 3*time.Millisecond),
		report("everyday", "fused", 2000, 0.7, 0.7125, 3100*time.Microsecond),
		report("functions", "fused", 1351, 0.8, 0.8, 3200*time.Microsecond),
		report("a set with a <name> & \"quotes\" that goes on\nand on", "lexical", 1, 1, 1, 999),
		report("catalogue", "lexical", 0, 0, 0, 0),
		report("中文|查询_集", "fused", 327, 0, 0, 2*time.Second),
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	if err := eval.Table(&b, drawn()); err != nil {
		t.Fatal(err)
	}
	golden(t, "table.txt", b.Bytes())
}

func TestByLang(t *testing.T) {
	two := report("both", "lexical", 5, 0.5, 0.5, time.Millisecond)
	two.Langs = map[string]eval.Scores{"zh": {N: 2}, "en": {N: 3}}
	other := two
	other.Engine = "fused"
	one := report("single", "lexical", 5, 0.5, 0.5, time.Millisecond)
	one.Langs = map[string]eval.Scores{"en": {N: 5}}
	var got []string
	for _, r := range eval.ByLang([]eval.Named{two, one, other}) {
		got = append(got, fmt.Sprint(r.Set, "/", r.Engine, " ", r.N))
	}
	if diff := cmp.Diff([]string{"both en/lexical 3", "both en/fused 3", "both zh/lexical 2", "both zh/fused 2"},
		got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
