// Package llmbench measures how well language models do the work of LLM-backed tools, and says which
// are to be asked.
//
// # Law
//
// Each case is asked of each model as often as is said, through the calls that everybody makes, with
// that one model. What a model answered is kept under a hash of what decides it: the definition, the
// input, the model, and which time it is. So nothing is asked twice, also after a run that ended early;
// and checks that change are checked anew on the same answers. What a judge said is kept likewise, under
// its definition and the models that it asks.
//
// An answer that a model could not give (cut off, of another shape, declined) has a score of 0. One that
// did not come for another reason (no key, no connection, a limit) is not measured, is not kept, and its
// model is not recommended until it is. A run that is cancelled begins nothing more, waits for what is
// under way, and keeps it.
//
// Recommended are the models whose score is at or above the tool's threshold, the cheapest first.
package llmbench

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"callgate/internal/llmbench/cases"
	"callgate/tool"
)

// Call is one call of an LLM-backed tool.
type Call struct {
	Tool  string
	Model string // the one that is asked; "": as the tool's definition says
	Args  json.RawMessage
}

// Caller makes calls. A call that fails says so in its result.
type Caller func(ctx context.Context, c Call) (*tool.Result, error)

// Job is a tool that is measured.
type Job struct {
	ID        tool.ID
	Digest    string  // of its definition
	Threshold float64 // of 100
	Models    []string
	Suite     *cases.Suite
	Repeats   int // of a suite that does not say
}

// Judge is what decides how a tool judges answers, beside what it is asked.
type Judge struct {
	Digest string   // of its definition
	Models []string // that it asks, one after the other
}

// Options say how a run is made. Call and Cache are required.
type Options struct {
	Call     Caller
	Cache    *Cache
	Judges   map[string]Judge // by the names that cases have for them
	Parallel int              // calls at a time; 0: 4
	MaxCost  float64          // US dollars; 0: no limit
	Grace    time.Duration    // for calls that are under way when the run is cancelled; 0: a minute
	Progress func(Progress)
	Now      func() time.Time // nil: time.Now
}

// Progress is how far a run is.
type Progress struct {
	Done, Total int
	Cached      int           // of Done: kept from earlier
	Cost        float64       // US dollars, of this run
	Left        time.Duration // until the end, by how long it took so far; 0: not known
}

// Why a run ended before its end.
const (
	StoppedByUser = "cancelled"
	StoppedByCost = "max_cost"
)

// item is one case, asked of one model once.
type item struct {
	job    int
	Case   cases.Case
	model  string
	repeat int
}

// runner is one run.
type runner struct {
	Options
	jobs  []Job
	began time.Time

	mu       sync.Mutex
	runs     []run
	problems map[string]string // why a model cannot be asked, by job and model
	spent    float64
	judging  float64
	dearest  float64 // the most that one case cost
	underWay int
	progress Progress
	stopped  string
}

// run is what came of an item.
type run struct {
	item
	answer kept
	score  float64
	failed []string // the checks that it did not meet
	err    string   // why it was not measured
}

// Run measures. It returns an error only where nothing could be measured at all; what a cancelled run
// did is in its report.
func Run(ctx context.Context, jobs []Job, o Options) (*Report, error) {
	if o.Parallel <= 0 {
		o.Parallel = 4
	}
	if o.Grace <= 0 {
		o.Grace = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &runner{Options: o, jobs: jobs, problems: map[string]string{}, began: o.Now()}
	items := r.items()
	r.progress.Total = len(items)
	calls, end := graceful(ctx, o.Grace)
	defer end()
	next := make(chan item)
	var workers sync.WaitGroup
	for range o.Parallel {
		workers.Go(func() {
			for it := range next {
				r.do(calls, it)
			}
		})
	}
	for _, it := range items {
		if ctx.Err() != nil {
			r.stop(StoppedByUser)
		}
		if r.isStopped() {
			break
		}
		select {
		case next <- it:
		case <-ctx.Done():
			r.stop(StoppedByUser)
		}
	}
	close(next)
	workers.Wait()
	return r.report(), nil
}

// graceful returns a context that ends some time after another.
func graceful(ctx context.Context, grace time.Duration) (context.Context, func()) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(later, func() { timer.Stop() })
	})
	return later, func() {
		stop()
		cancel()
	}
}

// items lists what is to be asked: one model after the other, so that no provider gets all at once.
func (r *runner) items() (all []item) {
	for j, job := range r.jobs {
		for repeat := range repeats(job) {
			for _, c := range job.Suite.Cases {
				for _, model := range job.Models {
					all = append(all, item{job: j, Case: c, model: model, repeat: repeat})
				}
			}
		}
	}
	return all
}

func repeats(j Job) int {
	if j.Suite.Repeats > 0 {
		return j.Suite.Repeats
	}
	return max(1, j.Repeats)
}

func (r *runner) stop(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped == "" {
		r.stopped = why
	}
}

func (r *runner) isStopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped != ""
}

// do measures one item.
func (r *runner) do(ctx context.Context, it item) {
	out := run{item: it}
	job := r.jobs[it.job]
	k := key{Definition: job.Digest, Tool: job.ID.String(), Input: it.Case.Input, Model: it.model, Repeat: it.repeat}
	answer, cached := r.Cache.get(k)
	if !cached {
		if !r.begin(it) {
			return
		}
		answer = r.ask(ctx, it, job)
		if answer.Unmeasured == "" {
			r.Cache.put(k, answer)
		}
		r.end(it, answer)
	}
	out.answer = answer
	if answer.Unmeasured != "" {
		out.err = answer.Unmeasured
	} else {
		r.check(ctx, &out)
	}
	r.done(out, cached)
}

// begin reports whether an item may be asked: its model can be asked, and there is money left.
func (r *runner) begin(it item) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if why, ok := r.problems[it.place()]; ok {
		r.runs = append(r.runs, run{item: it, err: why})
		r.progress.Done++
		return false
	}
	if r.MaxCost > 0 && r.spent+r.judging+float64(r.underWay+1)*r.dearest > r.MaxCost {
		if r.stopped == "" {
			r.stopped = StoppedByCost
		}
	}
	if r.stopped == StoppedByCost {
		return false
	}
	r.underWay++
	return true
}

func (r *runner) end(it item, a kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.underWay--
	cost, _ := a.cost()
	r.spent += cost
	r.dearest = max(r.dearest, cost)
	if a.Unmeasured != "" && len(a.Attempts) == 0 { // it is the same for every case
		r.problems[it.place()] = a.Unmeasured
	}
}

// place names the tool and the model of an item.
func (it item) place() string { return strconv.Itoa(it.job) + " " + it.model }

// done records what came of an item, and tells how far the run is.
func (r *runner) done(out run, cached bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = append(r.runs, out)
	r.progress.Done++
	if cached {
		r.progress.Cached++
	}
	r.progress.Cost = r.spent + r.judging
	if asked := r.progress.Done - r.progress.Cached; asked > 0 {
		each := r.Now().Sub(r.began) / time.Duration(asked)
		r.progress.Left = each * time.Duration(r.progress.Total-r.progress.Done)
	}
	if r.Progress != nil {
		r.Progress(r.progress)
	}
}

// measurable are the ends of a request that tell something of the model.
var measurable = []string{"ok", "truncated", "malformed", "mismatched", "refused", "too_long"}

// ask has the model do the work of one case.
func (r *runner) ask(ctx context.Context, it item, job Job) kept {
	res, err := r.Call(ctx, Call{Tool: job.ID.String(), Model: it.model, Args: it.Case.Input})
	a := keep(res, err)
	a.At = r.Now()
	if n := len(a.Attempts); n > 0 {
		if by := a.Attempts[n-1].Model; by != "" && by != it.model {
			a = kept{Unmeasured: "another model answered: " + by, At: a.At}
		}
	}
	return a
}

// keep makes of a result what is kept of it.
func keep(res *tool.Result, err error) kept {
	switch {
	case err != nil:
		return kept{Unmeasured: err.Error()}
	case res.Status == tool.Waiting:
		return kept{Unmeasured: "the call waits for a human: allow the tool in tools.capabilities, and run this again"}
	}
	a := kept{Attempts: res.Attempts}
	if len(res.Attempts) > 0 {
		a.Outcome = res.Attempts[len(res.Attempts)-1].Outcome
	}
	if res.Status == tool.Success {
		a.Result = resultOf(res)
		return a
	}
	message := res.Summary
	if res.Error != nil {
		message = res.Error.Error()
		if res.Error.Hint != "" {
			message += " (" + res.Error.Hint + ")"
		}
	}
	a.Error = message
	if !slices.Contains(measurable, a.Outcome) {
		a.Unmeasured = message
	}
	return a
}

// resultOf is the data of a result, or its text as a JSON text.
func resultOf(res *tool.Result) json.RawMessage {
	if len(res.Data) > 0 {
		var compact bytes.Buffer // as it is when it was kept
		if json.Compact(&compact, res.Data) == nil {
			return compact.Bytes()
		}
		return res.Data
	}
	var text string
	for _, c := range res.Content {
		text += c.Text
	}
	raw, _ := json.Marshal(text) // a text can always be written
	return raw
}
