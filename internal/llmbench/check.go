package llmbench

import (
	"context"
	"strings"

	"callgate/internal/llmbench/cases"
	"callgate/internal/llmbench/stats"
	"callgate/tool"
)

// check gives an answer its score.
func (r *runner) check(ctx context.Context, out *run) {
	a := out.answer
	if len(a.Result) == 0 {
		out.failed = []string{a.Outcome}
		return
	}
	answer := cases.Answer{Input: out.Case.Input, Result: a.Result, Latency: a.latency()}
	answer.Cost, answer.Priced = a.cost()
	var samples []stats.Sample
	for _, c := range out.Case.Checks {
		score := 0.0
		switch {
		case c.Judge != nil:
			judged, err := r.judge(ctx, c, answer, out.repeat)
			if err != nil {
				out.err = "it was not judged: " + err.Error()
				return
			}
			score = judged
		default:
			if ok, _ := c.Meets(answer); ok {
				score = 1
			}
		}
		if score < 1 && c.Judge == nil || score == 0 {
			out.failed = append(out.failed, c.String())
		}
		samples = append(samples, stats.Sample{Value: score, Weight: c.Weight})
	}
	out.score = 1
	if len(samples) > 0 {
		out.score = stats.Mean(samples)
	}
}

// judge has a tool judge an answer. What it said of the same answer is kept.
func (r *runner) judge(ctx context.Context, c cases.Check, a cases.Answer, repeat int) (float64, error) {
	args, err := c.Judge.Args(a)
	if err != nil {
		return 0, err
	}
	by := r.Judges[c.Judge.By]
	k := key{
		Definition: by.Digest, Tool: c.Judge.By, Input: args, Model: strings.Join(by.Models, ", "), Repeat: repeat,
	}
	judged, cached := r.Cache.get(k)
	if !cached {
		res, err := r.Call(ctx, Call{Tool: c.Judge.By, Args: args})
		judged = keep(res, err)
		judged.At = r.Now()
		cost, _ := judged.cost()
		r.mu.Lock()
		r.judging += cost
		r.mu.Unlock()
		if len(judged.Result) == 0 {
			return 0, tool.Errorf("llmbench.judge", tool.Failed, "%s: %s%s", c.Judge.By, judged.Error, judged.Unmeasured)
		}
		r.Cache.put(k, judged)
	}
	return c.Judge.Score(judged.Result)
}
