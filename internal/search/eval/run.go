package eval

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// Depth is the number of IDs that Run asks for: enough for the rank of a late
// answer to count in the mean reciprocal rank. Later IDs are ignored.
const Depth = 100

// Searcher answers a query with at most k tool ids, best first. Run calls it
// from one goroutine.
type Searcher func(query string, k int) []string

// Scores are means over queries. A tool is right if its relevance is above zero. A
// tool that is returned twice counts at its first place; the second place counts
// as wrong.
type Scores struct {
	N        int     `json:"n"`         // queries that were scored
	Hit1     float64 `json:"hit@1"`     // the first is right
	Hit5     float64 `json:"hit@5"`     // one of the first five is right
	Recall1  float64 `json:"recall@1"`  // the share of the right tools that is first
	Recall5  float64 `json:"recall@5"`  // … among the first five
	Recall10 float64 `json:"recall@10"` // … among the first ten
	NDCG5    float64 `json:"ndcg@5"`    // gain: relevance; discount: log2 of place+1; ideal: over all right tools
	NDCG10   float64 `json:"ndcg@10"`
	MRR      float64 `json:"mrr"` // 1 / place of the first right tool, 0 beyond Depth
	Latency  Latency `json:"latency"`
}

// Latency holds percentiles of the time for an answer of Depth IDs. Each is a
// measured time and not interpolated.
type Latency struct {
	P50 time.Duration `json:"p50"`
	P90 time.Duration `json:"p90"`
	P99 time.Duration `json:"p99"`
}

// Report is the result of one searcher on one set.
type Report struct {
	Scores
	Unscored int               `json:"unscored,omitempty"` // queries without a right answer, left out
	Langs    map[string]Scores `json:"langs,omitempty"`    // the same, for each language the set names
}

// Run asks s every scored query of the set once and reports the means. It warms up
// with a query that is in no set, so that a searcher with a cache is timed on
// queries that it has not seen.
func Run(set *Set, s Searcher) Report { return RunEach(set, func(string) Searcher { return s }) }

// WarmUps is how often a searcher is asked before it counts.
const WarmUps = 3

// RunEach is Run with a searcher for each query. What prepare does is not timed.
func RunEach(set *Set, prepare func(query string) Searcher) Report {
	const ready = "get ready to search"
	for range WarmUps {
		prepare(ready)(ready, Depth)
	}
	var all tally
	langs := map[string]*tally{}
	unscored := 0
	for _, q := range set.Queries {
		gold := set.Gold[q.ID]
		if relevant(gold) == 0 {
			unscored++
			continue
		}
		s := prepare(q.Text)
		start := time.Now()
		ids := s(q.Text, Depth)
		took := time.Since(start)
		one := score(ids, gold)
		all.add(one, took)
		if q.Lang == "" {
			continue
		}
		if langs[q.Lang] == nil {
			langs[q.Lang] = &tally{}
		}
		langs[q.Lang].add(one, took)
	}
	r := Report{Scores: all.mean(), Unscored: unscored}
	if len(langs) > 0 {
		r.Langs = make(map[string]Scores, len(langs))
		for lang, t := range langs {
			r.Langs[lang] = t.mean()
		}
	}
	return r
}

// relevant counts the tools that are right.
func relevant(gold map[string]float64) int {
	n := 0
	for _, rel := range gold {
		if rel > 0 {
			n++
		}
	}
	return n
}

// score computes the scores of one answer. Gold must hold a right tool.
func score(ids []string, gold map[string]float64) Scores {
	if len(ids) > Depth {
		ids = ids[:Depth]
	}
	var s Scores
	var gain5, gain10 float64
	var found1, found5, found10 float64
	seen := make(map[string]bool, len(gold))
	for i, id := range ids {
		rel := gold[id]
		if rel <= 0 || seen[id] {
			continue
		}
		seen[id] = true
		if s.MRR == 0 {
			s.MRR = 1 / float64(i+1)
		}
		if i < 1 {
			found1++
		}
		if i < 5 {
			found5++
			gain5 += rel / discount(i)
		}
		if i < 10 {
			found10++
			gain10 += rel / discount(i)
		}
	}
	right := float64(relevant(gold))
	s.Hit1, s.Hit5 = min(found1, 1), min(found5, 1)
	s.Recall1, s.Recall5, s.Recall10 = found1/right, found5/right, found10/right
	s.NDCG5, s.NDCG10 = gain5/ideal(gold, 5), gain10/ideal(gold, 10)
	return s
}

// discount is the divisor of the gain at place i, counted from zero.
func discount(i int) float64 { return math.Log2(float64(i + 2)) }

// ideal is the gain of the best possible answer of k IDs.
func ideal(gold map[string]float64, k int) float64 {
	rels := slices.SortedFunc(maps.Values(gold), func(a, b float64) int { return cmp.Compare(b, a) })
	sum := 0.0
	for i, rel := range rels[:min(k, len(rels))] {
		sum += rel / discount(i)
	}
	return sum
}

// tally sums scores for their mean.
type tally struct {
	sum  Scores
	took []time.Duration
}

func (t *tally) add(s Scores, took time.Duration) {
	for i, v := range s.values() {
		*t.sum.values()[i] += *v
	}
	t.took = append(t.took, took)
}

func (t *tally) mean() Scores {
	m := t.sum
	m.N = len(t.took)
	if m.N == 0 {
		return m
	}
	for _, v := range m.values() {
		*v /= float64(m.N)
	}
	took := slices.Sorted(slices.Values(t.took))
	m.Latency = Latency{percentile(took, 50), percentile(took, 90), percentile(took, 99)}
	return m
}

// values are the means, in the order of the fields.
func (s *Scores) values() []*float64 {
	return []*float64{&s.Hit1, &s.Hit5, &s.Recall1, &s.Recall5, &s.Recall10, &s.NDCG5, &s.NDCG10, &s.MRR}
}

// percentile is the smallest value that p percent of the values do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[(len(sorted)*p+99)/100-1]
}
