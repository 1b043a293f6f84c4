package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"callgate/internal/search"
	"callgate/internal/search/eval"
	"callgate/internal/search/learned"
	"callgate/tool"
)

// Asked is a request, and the tools that it led to.
type Asked struct {
	Request string
	Tools   []string // dotted names
	Learned bool     // it is one of those that were learned; else the journal alone says so
}

// MaxAsked is how many requests are measured, the newest.
const MaxAsked = 2000

// Requests puts pairs together by request, the newest first, without the tools that are not there.
// gone is the number of pairs whose tools are not.
func Requests(pairs []learned.Pair, fromLog []learned.Pair, isTool func(dotted string) bool) (list []Asked, gone int) {
	at := map[string]int{}
	add := func(p learned.Pair, isLearned bool) {
		if !isTool(p.Tool) {
			gone++
			return
		}
		key := learned.Fold(p.Request)
		i, ok := at[key]
		if !ok {
			i = len(list)
			at[key] = i
			list = append(list, Asked{Request: p.Request})
		}
		list[i].Learned = list[i].Learned || isLearned
		if !slices.Contains(list[i].Tools, p.Tool) {
			list[i].Tools = append(list[i].Tools, p.Tool)
		}
	}
	newest := slices.Clone(pairs)
	slices.SortStableFunc(newest, func(a, b learned.Pair) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Request, b.Request))
	})
	for _, p := range newest {
		add(p, true)
	}
	for _, p := range fromLog {
		add(p, false)
	}
	return list[:min(len(list), MaxAsked)], gone
}

// Own measures ways to search on somebody's own tools and requests.
type Own struct {
	Tools    []*tool.Tool
	Asked    []Asked
	Options  search.Options      // of every index; its Embedder is that of each way
	Learned  map[string][]string // that the searches of whoever asks taught
	Requests map[string][]string // that the app file names
}

// Way is one way to search.
type Way struct {
	Name     string
	Embedder search.Embedder // nil: by keywords alone
	Mode     search.Mode
}

// Estimate is a mean with its 95 % interval, which is Wilson's: on the safe side for means of
// numbers between 0 and 1 that are no shares.
type Estimate struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Measured is how one way to search did.
type Measured struct {
	Name    string        `json:"name"`
	Recall1 Estimate      `json:"recall@1"`
	Recall5 Estimate      `json:"recall@5"`
	NDCG10  Estimate      `json:"ndcg@10"`
	MRR     Estimate      `json:"mrr"`
	Median  time.Duration `json:"median"`
	// ByKeywords is how many requests keywords alone answered, because the model did not; Problem says
	// why the first of them. If it was all of them, there are no numbers.
	ByKeywords int    `json:"by_keywords,omitempty"`
	Problem    string `json:"problem,omitempty"`
}

// Measure asks every request in one way. A learned example of the same request is left out
// while it is asked.
func (o Own) Measure(ctx context.Context, w Way) (Measured, error) {
	m := Measured{Name: w.Name}
	opts := o.Options
	opts.Embedder = w.Embedder
	index := search.New(opts)
	defer index.Close()
	if _, err := o.catalog(ctx, index, ""); err != nil {
		return m, err
	}
	if err := index.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			return m, err
		}
		m.ByKeywords, m.Problem = len(o.Asked), err.Error()
		return m, nil
	}
	set, byRequest := o.set(), map[string]Asked{}
	for _, a := range o.Asked {
		byRequest[a.Request] = a
	}
	plain, err := o.catalog(ctx, index, "")
	if err != nil {
		return m, err
	}
	report := eval.RunEach(set, func(query string) eval.Searcher {
		catalog := plain
		if a, ok := byRequest[query]; ok && a.Learned && err == nil {
			catalog, err = o.catalog(ctx, index, query)
		}
		return func(query string, k int) []string {
			if err != nil || ctx.Err() != nil {
				return nil
			}
			return m.ask(ctx, catalog, w, query, k)
		}
	})
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return m, &tool.Error{Op: "bench.Own", Kind: tool.Cancelled, Message: "the measurement was ended", Err: err}
	}
	m.ByKeywords = max(0, m.ByKeywords-eval.WarmUps) // which are no requests
	m.Recall1, m.Recall5 = estimate(report.Recall1, report.N), estimate(report.Recall5, report.N)
	m.NDCG10, m.MRR = estimate(report.NDCG10, report.N), estimate(report.MRR, report.N)
	m.Median = report.Latency.P50
	return m, nil
}

// ask answers one query with the dotted names of tools.
func (m *Measured) ask(ctx context.Context, c *search.Catalog, w Way, query string, k int) []string {
	r, err := c.Search(ctx, search.Request{Queries: []string{query}, Limit: k, Mode: w.Mode})
	if err != nil || len(r.Answers) == 0 {
		return nil
	}
	if w.Embedder != nil && r.Degraded != "" {
		m.ByKeywords++
		m.Problem = cmp.Or(m.Problem, r.Degraded)
	}
	found := make([]string, len(r.Answers[0].Hits))
	for i, h := range r.Answers[0].Hits {
		found[i] = h.Tool.ID.Dotted()
	}
	return found
}

// catalog makes a catalog with what was learned, but for one request.
func (o Own) catalog(ctx context.Context, index *search.Index, without string) (*search.Catalog, error) {
	left := o.Learned
	if without != "" {
		fold := learned.Fold(without)
		left = make(map[string][]string, len(o.Learned))
		for name, list := range o.Learned {
			left[name] = slices.DeleteFunc(slices.Clone(list), func(s string) bool { return learned.Fold(s) == fold })
		}
	}
	return index.Catalog(ctx, o.Tools, search.Examples{ByTool: left, Private: true}, search.Examples{ByTool: o.Requests})
}

// set is the requests as a set, whose tools are named by their dotted names.
func (o Own) set() *eval.Set {
	s := &eval.Set{Name: "own", Gold: map[string]map[string]float64{}}
	for _, t := range o.Tools {
		s.Tools = append(s.Tools, eval.Tool{ID: t.ID.Dotted(), Name: t.ID.Name, Description: t.Spec.Description})
	}
	for i, a := range o.Asked {
		id := fmt.Sprint(i)
		s.Queries = append(s.Queries, eval.Query{ID: id, Text: a.Request})
		s.Gold[id] = map[string]float64{}
		for _, name := range a.Tools {
			s.Gold[id][name] = 1
		}
	}
	return s
}

// estimate is a mean of n numbers between 0 and 1, with Wilson's interval.
func estimate(mean float64, n int) Estimate {
	if n == 0 {
		return Estimate{High: 1}
	}
	const z = 1.959964
	count := float64(n)
	middle := (mean + z*z/(2*count)) / (1 + z*z/count)
	half := z / (1 + z*z/count) * math.Sqrt(mean*(1-mean)/count+z*z/(4*count*count))
	return Estimate{mean, max(0, middle-half), min(1, middle+half)}
}
