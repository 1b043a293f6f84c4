package eval_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/search/eval"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// oneQuery is a set of a single query with this gold.
func oneQuery(gold map[string]float64) *eval.Set {
	return &eval.Set{
		Queries: []eval.Query{{ID: "q", Text: "the query"}},
		Gold:    map[string]map[string]float64{"q": gold},
	}
}

// always answers every query alike.
func always(ids ...string) eval.Searcher {
	return func(string, int) []string { return ids }
}

// after puts id behind n wrong answers.
func after(n int, id string) []string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprint("wrong", i))
	}
	return append(ids, id)
}

var ignoreTime = cmp.Options{cmpopts.EquateApprox(0, 1e-9), cmpopts.IgnoreFields(eval.Scores{}, "Latency")}

func TestScoresOfOneQuery(t *testing.T) {
	log3 := math.Log2(3)
	for _, c := range []struct {
		name string
		gold map[string]float64
		got  []string
		want eval.Scores
	}{
		{"first of one", map[string]float64{"a": 1}, []string{"a", "x"},
			eval.Scores{Hit1: 1, Hit5: 1, Recall1: 1, Recall5: 1, Recall10: 1, NDCG5: 1, NDCG10: 1, MRR: 1}},
		{"second of one", map[string]float64{"a": 1}, []string{"x", "a"},
			eval.Scores{Hit5: 1, Recall5: 1, Recall10: 1, NDCG5: 1 / log3, NDCG10: 1 / log3, MRR: 0.5}},
		{"fifth is within five", map[string]float64{"a": 1}, after(4, "a"),
			eval.Scores{Hit5: 1, Recall5: 1, Recall10: 1, NDCG5: 1 / math.Log2(6), NDCG10: 1 / math.Log2(6), MRR: 0.2}},
		{"sixth is not", map[string]float64{"a": 1}, after(5, "a"),
			eval.Scores{Recall10: 1, NDCG10: 1 / math.Log2(7), MRR: 1.0 / 6}},
		{"tenth is within ten", map[string]float64{"a": 1}, after(9, "a"),
			eval.Scores{Recall10: 1, NDCG10: 1 / math.Log2(11), MRR: 0.1}},
		{"eleventh tells in MRR only", map[string]float64{"a": 1}, after(10, "a"), eval.Scores{MRR: 1.0 / 11}},
		{"the hundredth still tells", map[string]float64{"a": 1}, after(99, "a"), eval.Scores{MRR: 0.01}},
		{"beyond the depth nothing does", map[string]float64{"a": 1}, after(100, "a"), eval.Scores{}},
		{"one of two, second", map[string]float64{"a": 1, "b": 1}, []string{"x", "b", "y"},
			eval.Scores{Hit5: 1, Recall5: 0.5, Recall10: 0.5, NDCG5: (1 / log3) / (1 + 1/log3),
				NDCG10: (1 / log3) / (1 + 1/log3), MRR: 0.5}},
		{"both of two", map[string]float64{"a": 1, "b": 1}, []string{"b", "a"},
			eval.Scores{Hit1: 1, Hit5: 1, Recall1: 0.5, Recall5: 1, Recall10: 1, NDCG5: 1, NDCG10: 1, MRR: 1}},
		{"graded, the lesser first", map[string]float64{"a": 2, "b": 1}, []string{"b", "a"},
			eval.Scores{Hit1: 1, Hit5: 1, Recall1: 0.5, Recall5: 1, Recall10: 1, NDCG5: (1 + 2/log3) / (2 + 1/log3),
				NDCG10: (1 + 2/log3) / (2 + 1/log3), MRR: 1}},
		{"relevance zero is wrong", map[string]float64{"a": 1, "z": 0}, []string{"z", "a"},
			eval.Scores{Hit5: 1, Recall5: 1, Recall10: 1, NDCG5: 1 / log3, NDCG10: 1 / log3, MRR: 0.5}},
		{"twice counts once and wastes a place", map[string]float64{"a": 1, "b": 1}, []string{"a", "a", "b"},
			eval.Scores{Hit1: 1, Hit5: 1, Recall1: 0.5, Recall5: 1, Recall10: 1, NDCG5: 1.5 / (1 + 1/log3),
				NDCG10: 1.5 / (1 + 1/log3), MRR: 1}},
		{"ideal of five takes the best five", map[string]float64{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1},
			[]string{"a", "b", "c", "d", "e"},
			eval.Scores{Hit1: 1, Hit5: 1, Recall1: 1.0 / 6, Recall5: 5.0 / 6, Recall10: 5.0 / 6, NDCG5: 1,
				NDCG10: dcg(5) / dcg(6), MRR: 1}},
		{"nothing returned", map[string]float64{"a": 1}, nil, eval.Scores{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.N = 1
			got := eval.Run(oneQuery(c.gold), always(c.got...))
			if diff := cmp.Diff(c.want, got.Scores, ignoreTime); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

// dcg is the gain of n right answers in a row.
func dcg(n int) float64 {
	sum := 0.0
	for i := range n {
		sum += 1 / math.Log2(float64(i+2))
	}
	return sum
}

func TestRunIsTheMeanOverScoredQueries(t *testing.T) {
	set := &eval.Set{
		Queries: []eval.Query{{"q1", "one", "en"}, {"q2", "two", "zh"}, {"q3", "three", "en"}, {"q4", "four", "en"},
			{"q5", "five", "en"}, {"q6", "six", ""}},
		Gold: map[string]map[string]float64{
			"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"b": 1}, "q5": {"a": 0}, "q6": {"c": 1},
		},
	}
	var asked []string
	got := eval.Run(set, func(q string, k int) []string {
		if k != eval.Depth {
			t.Errorf("asked for %d ids, want %d", k, eval.Depth)
		}
		asked = append(asked, q)
		return []string{"a", "b"}
	})
	if want := []string{"one", "two", "three", "six"}; !slices.Equal(asked[len(asked)-len(want):], want) {
		t.Errorf("asked %q, want it to end with the scored queries, once each: %q", asked, want)
	}
	if warm := asked[:len(asked)-4]; len(warm) == 0 || slices.ContainsFunc(warm, func(q string) bool {
		return slices.ContainsFunc(set.Queries, func(of eval.Query) bool { return of.Text == q })
	}) {
		t.Errorf("the warm-up asked %q, want something, and nothing of the set", warm)
	}
	if want := []string{"q4", "q5"}; !slices.Equal(set.Unscored(), want) || got.Unscored != len(want) {
		t.Errorf("unscored: %q and %d, want %q", set.Unscored(), got.Unscored, want)
	}
	log3 := math.Log2(3)
	want := eval.Report{
		Scores: eval.Scores{N: 4, Hit1: 0.5, Hit5: 0.75, Recall1: 0.5, Recall5: 0.75, Recall10: 0.75,
			NDCG5: (2 + 1/log3) / 4, NDCG10: (2 + 1/log3) / 4, MRR: 2.5 / 4},
		Unscored: 2,
		Langs: map[string]eval.Scores{
			"en": {N: 2, Hit1: 0.5, Hit5: 1, Recall1: 0.5, Recall5: 1, Recall10: 1, NDCG5: (1 + 1/log3) / 2,
				NDCG10: (1 + 1/log3) / 2, MRR: 0.75},
			"zh": {N: 1, Hit1: 1, Hit5: 1, Recall1: 1, Recall5: 1, Recall10: 1, NDCG5: 1, NDCG10: 1, MRR: 1},
		},
	}
	if diff := cmp.Diff(want, got, ignoreTime); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestRunOfASetWithoutQueries(t *testing.T) {
	got := eval.Run(&eval.Set{Tools: []eval.Tool{{ID: "a", Name: "a"}}}, always("a"))
	if diff := cmp.Diff(eval.Report{}, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// Two hundred queries take 1 to 200 ms, slowest first; nearest rank makes the
// percentiles 100, 180 and 198. The odd ones are of another language.
func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := &eval.Set{Gold: map[string]map[string]float64{}}
		took := map[string]time.Duration{}
		for i := 200; i > 0; i-- {
			id := fmt.Sprint("q", i)
			set.Queries = append(set.Queries, eval.Query{ID: id, Text: id, Lang: []string{"even", "odd"}[i%2]})
			set.Gold[id] = map[string]float64{"a": 1}
			took[id] = time.Duration(i) * time.Millisecond
		}
		got := eval.Run(set, func(q string, _ int) []string {
			d, ok := took[q]
			if !ok {
				d = time.Hour // the warm-up must not be timed
			}
			<-time.After(d)
			return nil
		})
		ms := time.Millisecond
		want := map[string]eval.Latency{"": {100 * ms, 180 * ms, 198 * ms}, "even": {100 * ms, 180 * ms, 198 * ms},
			"odd": {99 * ms, 179 * ms, 197 * ms}}
		have := map[string]eval.Latency{"": got.Latency, "even": got.Langs["even"].Latency, "odd": got.Langs["odd"].Latency}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("latency (-want +got):\n%s", diff)
		}
	})
}
