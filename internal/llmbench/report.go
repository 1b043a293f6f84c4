package llmbench

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"callgate/internal/llmbench/cases"
	"callgate/internal/llmbench/stats"
	"callgate/tool"
)

// Report is what a run measured.
type Report struct {
	At      time.Time    `json:"at"`
	Tools   []ToolReport `json:"tools"`
	Calls   int          `json:"calls"`  // that were made
	Cached  int          `json:"cached"` // answers kept from earlier
	Cost    float64      `json:"cost"`   // US dollars, of this run, with the judges
	Judging float64      `json:"judging,omitempty"`
	Stopped string       `json:"stopped,omitempty"` // why it ended before its end
}

// ToolReport is what was measured of one tool.
type ToolReport struct {
	Tool        string        `json:"tool"`
	Digest      string        `json:"digest"`
	Threshold   float64       `json:"threshold"`
	Cases       int           `json:"cases"`
	Repeats     int           `json:"repeats"`
	Models      []ModelReport `json:"models"`      // the best first
	Recommended []string      `json:"recommended"` // the cheapest first
	Complete    bool          `json:"complete"`    // everything was measured
	id          tool.ID
}

// ModelReport is what was measured of one model at one tool.
type ModelReport struct {
	Model string  `json:"model"`
	Runs  int     `json:"runs"`
	Score float64 `json:"score"` // from 0 to 100
	Low   float64 `json:"low"`   // of the interval of 95 %
	High  float64 `json:"high"`

	Median float64 `json:"median_ms"`
	P95    float64 `json:"p95_ms"`
	Input  float64 `json:"input_tokens"` // of one call
	Output float64 `json:"output_tokens"`
	Cost   float64 `json:"cost"` // US dollars of one call
	Priced bool    `json:"priced"`

	Reached    bool           `json:"reached"` // the threshold
	Unmeasured int            `json:"unmeasured,omitempty"`
	Problem    string         `json:"problem,omitempty"` // why something was not measured
	Failed     map[string]int `json:"failed,omitempty"`  // checks that were not met, and how often
	Cases      []CaseReport   `json:"cases,omitempty"`
}

// CaseReport is how a model did at one case.
type CaseReport struct {
	Name  string  `json:"name"`
	Score float64 `json:"score"`
}

// report sums up.
func (r *runner) report() *Report {
	out := &Report{
		At: r.Now().UTC(), Cost: r.spent + r.judging, Judging: r.judging, Stopped: r.stopped,
		Cached: r.progress.Cached, Calls: r.progress.Done - r.progress.Cached,
	}
	for j, job := range r.jobs {
		t := ToolReport{
			Tool: job.ID.String(), id: job.ID, Digest: job.Digest, Threshold: job.Threshold,
			Cases: len(job.Suite.Cases), Repeats: repeats(job), Complete: true,
		}
		for _, model := range job.Models {
			m := r.model(j, model)
			m.Reached = m.Runs > 0 && m.Runs == t.Cases*t.Repeats && m.Score >= job.Threshold-1e-9
			t.Complete = t.Complete && m.Unmeasured == 0 && m.Runs == t.Cases*t.Repeats
			t.Models = append(t.Models, m)
		}
		slices.SortStableFunc(t.Models, func(a, b ModelReport) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cheaper(a, b), strings.Compare(a.Model, b.Model))
		})
		t.Recommended = recommended(t.Models)
		out.Tools = append(out.Tools, t)
	}
	return out
}

// recommended are the models that reached the threshold, the cheapest first.
func recommended(models []ModelReport) []string {
	good := slices.DeleteFunc(slices.Clone(models), func(m ModelReport) bool { return !m.Reached })
	slices.SortStableFunc(good, cheaper)
	names := make([]string, len(good))
	for i, m := range good {
		names[i] = m.Model
	}
	return names
}

// cheaper puts the cheaper first, and what has no price last.
func cheaper(a, b ModelReport) int {
	switch {
	case a.Priced && !b.Priced:
		return -1
	case b.Priced && !a.Priced:
		return 1
	}
	return cmp.Compare(a.Cost, b.Cost)
}

// model sums up what was measured of a model at a tool.
func (r *runner) model(job int, name string) ModelReport {
	m := ModelReport{Model: name, Priced: true, Failed: map[string]int{}}
	var samples []stats.Sample
	var took []float64
	byCase := map[string][]stats.Sample{}
	for _, one := range r.sorted(job, name) {
		if one.err != "" {
			m.Unmeasured++
			m.Problem = one.err
			continue
		}
		m.Runs++
		s := stats.Sample{Value: one.score, Weight: one.Case.Weight}
		samples = append(samples, s)
		byCase[one.Case.Name] = append(byCase[one.Case.Name], s)
		took = append(took, float64(one.answer.latency())/1e6)
		in, out := one.answer.tokens()
		m.Input, m.Output = m.Input+float64(in), m.Output+float64(out)
		cost, known := one.answer.cost()
		m.Cost, m.Priced = m.Cost+cost, m.Priced && known
		for _, check := range one.failed {
			m.Failed[check]++
		}
	}
	if m.Runs > 0 {
		n := float64(m.Runs)
		m.Input, m.Output, m.Cost = m.Input/n, m.Output/n, m.Cost/n
	}
	var perCase []stats.Sample // answers to one case are alike, and tell little more than one of them
	for _, c := range r.jobs[job].Suite.Cases {
		if of := byCase[c.Name]; len(of) > 0 {
			perCase = append(perCase, stats.Sample{Value: mean(of), Weight: c.Weight})
		}
	}
	low, high := stats.Interval(perCase)
	m.Score, m.Low, m.High = percent(stats.Mean(samples)), percent(low), percent(high)
	m.Median, m.P95 = stats.Quantile(took, 0.5), stats.Quantile(took, 0.95)
	for _, c := range r.jobs[job].Suite.Cases {
		if len(byCase[c.Name]) > 0 {
			m.Cases = append(m.Cases, CaseReport{Name: c.Name, Score: percent(mean(byCase[c.Name]))})
		}
	}
	return m
}

// percent writes a share as a score, without the noise of its last digits.
func percent(share float64) float64 { return math.Round(share*1e8) / 1e6 }

// mean is that of one case, whose weight may be 0.
func mean(samples []stats.Sample) float64 {
	even := slices.Clone(samples)
	for i := range even {
		even[i].Weight = 1
	}
	return stats.Mean(even)
}

// sorted are the runs of a model in the order of the cases, whatever the order they ended in.
func (r *runner) sorted(job int, name string) []run {
	at := map[string]int{}
	for i, c := range r.jobs[job].Suite.Cases {
		at[c.Name] = i
	}
	var all []run
	for _, one := range r.runs {
		if one.job == job && one.model == name {
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b run) int {
		return cmp.Or(cmp.Compare(at[a.Case.Name], at[b.Case.Name]), cmp.Compare(a.repeat, b.repeat))
	})
	return all
}

// MostFailed lists the checks that a model met least, the worst first.
func (m ModelReport) MostFailed(n int) []string {
	names := slices.SortedFunc(maps.Keys(m.Failed), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.Failed[b], m.Failed[a]), strings.Compare(a, b))
	})
	return names[:min(n, len(names))]
}

// Passed reports whether each tool has a model that reached its threshold, or with every, whether all
// models did.
func (r *Report) Passed(every bool) bool {
	for _, t := range r.Tools {
		if len(t.Recommended) == 0 || every && len(t.Recommended) < len(t.Models) {
			return false
		}
	}
	return true
}

// Complete reports whether everything was measured.
func (r *Report) Complete() bool {
	return r.Stopped == "" && !slices.ContainsFunc(r.Tools, func(t ToolReport) bool { return !t.Complete })
}

// Version names what the scores of a tool were measured with: its definition and its cases.
func Version(digest string, s *cases.Suite) string {
	return tool.TruncateTo(digest, 12) + "/" + suiteDigest(s)
}
