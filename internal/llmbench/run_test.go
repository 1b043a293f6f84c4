package llmbench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"callgate/internal/llmbench"
	"callgate/internal/llmbench/cases"
	"callgate/tool"
)

// job is a tool with the cases of a file, measured with two models.
func job(t *testing.T, file string) llmbench.Job {
	t.Helper()
	suite, err := cases.Parse("f.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	id, err := tool.ParseID("acme:triage@1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	return llmbench.Job{ID: id, Digest: "d", Threshold: 90, Models: []string{"a/good", "a/bad"}, Suite: suite, Repeats: 2}
}

func cache(t *testing.T, dir string, fresh bool) *llmbench.Cache {
	t.Helper()
	c, err := llmbench.OpenCache(dir, fresh)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// calls counts calls, and answers them.
type calls struct {
	mu     sync.Mutex
	made   []llmbench.Call
	answer func(c llmbench.Call) (*tool.Result, error)
}

func (c *calls) call(_ context.Context, call llmbench.Call) (*tool.Result, error) {
	c.mu.Lock()
	c.made = append(c.made, call)
	c.mu.Unlock()
	return c.answer(call)
}

func ok(data string, cost int64) *tool.Result {
	return &tool.Result{Status: tool.Success, Data: json.RawMessage(data), Attempts: []tool.Attempt{
		{Outcome: "ok", Input: 10, Output: 2, Cost: cost, Priced: true, Took: 100 * time.Millisecond}}}
}

func failed(outcome string) *tool.Result {
	r := &tool.Result{Status: tool.Failure, Error: tool.Errorf("x", tool.Failed, "it failed").WithHint("mend it")}
	if outcome != "" {
		r.Attempts = []tool.Attempt{{Outcome: outcome, Input: 10, Cost: 3, Priced: true}}
	}
	return r
}

const two = "tool: x\ncases:\n- {name: one, input: {n: 1}, checks: [{exact: 1, at: n}]}\n" +
	"- {name: two, input: {n: 2}, checks: [{exact: 2, at: n}, {max_cost: 0.00001}]}\n"

// echo answers with its input; the bad model has another shape for the second case.
func echo(c llmbench.Call) (*tool.Result, error) {
	if c.Model == "a/bad" && strings.Contains(string(c.Args), "2") {
		return failed("mismatched"), nil
	}
	return ok(string(c.Args), 5), nil
}

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := &calls{answer: echo}
	measure := func(j llmbench.Job, fresh bool) *llmbench.Report {
		t.Helper()
		r, err := llmbench.Run(t.Context(), []llmbench.Job{j}, llmbench.Options{Call: c.call, Cache: cache(t, dir, fresh)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := measure(job(t, two), false)
	got := r.Tools[0]
	if len(c.made) != 8 || r.Calls != 8 || !r.Complete() || got.Models[0].Model != "a/good" || got.Models[0].Score != 100 ||
		got.Models[1].Score != 50 || got.Models[1].Failed["mismatched"] != 2 || !slices.Equal(got.Recommended, []string{"a/good"}) {
		t.Fatalf("the report is %+v", r)
	}
	if m := got.Models[0]; m.Cost != 5e-6 || m.Median != 100 || m.Input != 10 || m.Output != 2 {
		t.Errorf("what it took is %+v", m)
	}
	// The answers are kept: other checks of them need no calls, other cases do.
	stricter := measure(job(t, strings.Replace(two, "0.00001", "0.000001", 1)), false)
	if len(c.made) != 8 || stricter.Tools[0].Models[0].Score != 75 || stricter.Cached != 8 || stricter.Cost != 0 {
		t.Errorf("with another check, after %d calls: %+v", len(c.made), stricter)
	}
	changed := job(t, two)
	changed.Digest = "another"
	if measure(changed, false); len(c.made) != 16 {
		t.Errorf("another definition made %d calls in all", len(c.made))
	}
	if measure(job(t, two), true); len(c.made) != 24 {
		t.Errorf("a fresh run made %d calls in all", len(c.made))
	}
}

// TestNotMeasured counts nothing against a model that could not be asked, and asks it again next time.
func TestNotMeasured(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer func() (*tool.Result, error)
		calls  int // of the bad model: one that can never be asked is asked once
	}{
		"no key":       {func() (*tool.Result, error) { return failed(""), nil }, 1},
		"a limit":      {func() (*tool.Result, error) { return failed("limited"), nil }, 4},
		"the kernel":   {func() (*tool.Result, error) { return nil, errors.New("gone") }, 1},
		"a human":      {func() (*tool.Result, error) { return &tool.Result{Status: tool.Waiting}, nil }, 1},
		"no addresses": {func() (*tool.Result, error) { return failed("unavailable"), nil }, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &calls{answer: func(c llmbench.Call) (*tool.Result, error) {
				if c.Model == "a/bad" {
					return tc.answer()
				}
				return echo(c)
			}}
			dir := t.TempDir()
			o := llmbench.Options{Call: c.call, Cache: cache(t, dir, false), Parallel: 1}
			r, err := llmbench.Run(t.Context(), []llmbench.Job{job(t, two)}, o)
			if err != nil || r.Complete() || r.Tools[0].Complete || len(r.Scores([]llmbench.Job{job(t, two)})) != 0 {
				t.Fatalf("the report is %+v, %v", r, err)
			}
			bad := slices.DeleteFunc(slices.Clone(c.made), func(c llmbench.Call) bool { return c.Model != "a/bad" })
			if m := r.Tools[0].Models[1]; len(bad) != tc.calls || m.Unmeasured != 4 || m.Runs != 0 || m.Problem == "" || m.Reached {
				t.Errorf("after %d calls the model is %+v", len(bad), m)
			}
			path := filepath.Join(dir, "compat.json")
			if err := r.WriteCompat(path); err != nil {
				t.Fatal(err)
			}
			if data, _ := os.ReadFile(path); strings.Contains(string(data), "acme") {
				t.Errorf("what was half measured is recommended: %s", data)
			}
			c.answer = echo
			if r, err = llmbench.Run(t.Context(), []llmbench.Job{job(t, two)}, o); err != nil || !r.Complete() || r.Cached != 4 {
				t.Errorf("the next run is %+v, %v", r, err)
			}
		})
	}
}

func TestMaxCost(t *testing.T) {
	t.Parallel()
	c := &calls{answer: echo} // five millionths each
	r, err := llmbench.Run(t.Context(), []llmbench.Job{job(t, two)}, llmbench.Options{
		Call: c.call, Cache: cache(t, t.TempDir(), false), Parallel: 1, MaxCost: 12e-6,
	})
	if err != nil || r.Stopped != llmbench.StoppedByCost || r.Cost > 12e-6 || len(c.made) != 2 || r.Complete() {
		t.Errorf("after %d calls the report is %+v, %v", len(c.made), r, err)
	}
}

// TestCancelled waits for what is under way and keeps it, but not for ever.
func TestCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		run := func(takes time.Duration) (*llmbench.Report, time.Duration) {
			began := time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			r, err := llmbench.Run(ctx, []llmbench.Job{job(t, two)}, llmbench.Options{
				Cache: cache(t, dir, true), Parallel: 1, Grace: time.Minute,
				Call: func(ctx context.Context, c llmbench.Call) (*tool.Result, error) {
					cancel()
					select {
					case <-time.After(takes):
						return echo(c)
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			return r, time.Since(began)
		}
		if r, took := run(10 * time.Second); r.Stopped != llmbench.StoppedByUser || r.Calls != 1 || took != 10*time.Second || len(r.Tools[0].Recommended) != 0 ||
			r.Tools[0].Models[0].Runs != 1 {
			t.Errorf("after %v the report is %+v", took, r)
		}
		if r, took := run(time.Hour); took != time.Minute || r.Tools[0].Models[0].Runs != 0 {
			t.Errorf("after %v the report is %+v", took, r)
		}
	})
}

func TestJudged(t *testing.T) {
	t.Parallel()
	const file = "tool: x\ncases: [{input: {n: 1}, checks: [{exact: 1, at: n}, {judged: {task: Count, by: acme.judge}}]}]"
	dir := t.TempDir()
	judges := 0
	c := &calls{answer: func(c llmbench.Call) (*tool.Result, error) {
		if c.Tool != "acme.judge" {
			return ok(fmt.Sprintf(`{"n": 1, "by": %q}`, c.Model), 5), nil
		}
		judges++
		if c.Model != "" || !strings.Contains(string(c.Args), `"task":"Count"`) {
			t.Errorf("the judge was asked %+v", c)
		}
		if strings.Contains(string(c.Args), "a/good") {
			return ok(`{"score": 90}`, 7), nil
		}
		return ok(`{"score": 10}`, 7), nil
	}}
	o := llmbench.Options{Call: c.call, Cache: cache(t, dir, false), Parallel: 1}
	r, err := llmbench.Run(t.Context(), []llmbench.Job{job(t, file)}, o)
	if err != nil || r.Tools[0].Models[0].Score != 95 || r.Tools[0].Models[1].Score != 55 || judges != 4 {
		t.Fatalf("after %d judgements the report is %+v, %v", judges, r, err)
	}
	if math.Abs(r.Judging-28e-6) > 1e-12 || math.Abs(r.Cost-48e-6) > 1e-12 || r.Tools[0].Models[0].Cost != 5e-6 {
		t.Errorf("the cost is %v, with %v for judging", r.Cost, r.Judging)
	}
	if _, err := llmbench.Run(t.Context(), []llmbench.Job{job(t, file)}, o); err != nil || judges != 4 {
		t.Errorf("the same answers were judged again: %d, %v", judges, err)
	}
	// Another definition of the judge, and another model of it, judge again.
	for i, by := range []llmbench.Judge{{Digest: "d1"}, {Digest: "d2"}, {Digest: "d2", Models: []string{"a/judge"}},
		{Digest: "d2", Models: []string{"a/judge"}}} {
		o.Judges = map[string]llmbench.Judge{"acme.judge": by}
		_, err := llmbench.Run(t.Context(), []llmbench.Job{job(t, file)}, o)
		if want := []int{8, 12, 16, 16}[i]; err != nil || judges != want {
			t.Errorf("%+v: %d judgements, want %d, %v", by, judges, want, err)
		}
	}
	o.Judges = nil
	// A judge that fails measures nothing.
	c.answer = func(c llmbench.Call) (*tool.Result, error) {
		if c.Tool == "acme.judge" {
			return failed("limited"), nil
		}
		return ok(`{"n": 1}`, 5), nil
	}
	o.Cache = cache(t, t.TempDir(), false)
	if r, _ = llmbench.Run(t.Context(), []llmbench.Job{job(t, file)}, o); r.Complete() || r.Tools[0].Models[0].Runs != 0 {
		t.Errorf("without a judge the report is %+v", r)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	c := &calls{answer: echo}
	j := job(t, two)
	j.Models = append(j.Models, "a/"+strings.Repeat("long", 20))
	r, err := llmbench.Run(t.Context(), []llmbench.Job{j}, llmbench.Options{Call: c.call, Cache: cache(t, t.TempDir(), false)})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.Table(&out); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	for _, want := range []string{"* a/good", "100.0", "  a/bad", "2× not met: mismatched", "0.0050", "threshold 90"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, out.String())
		}
	}
}

// TestAnswersOfOthersDoNotCount: what another model answered says nothing of the one that was asked.
func TestAnswersOfOthersDoNotCount(t *testing.T) {
	t.Parallel()
	c := &calls{answer: func(c llmbench.Call) (*tool.Result, error) {
		r := ok(string(c.Args), 5)
		r.Attempts[0].Model = "a/good"
		return r, nil
	}}
	r, err := llmbench.Run(t.Context(), []llmbench.Job{job(t, two)}, llmbench.Options{
		Call: c.call, Cache: cache(t, t.TempDir(), false), Parallel: 1,
	})
	if err != nil || r.Tools[0].Complete || slices.Contains(r.Tools[0].Recommended, "a/bad") {
		t.Errorf("the report is %+v, %v", r, err)
	}
}

// TestWriteCompatOfSomeModels: what was recommended before and is not measured now stays.
func TestWriteCompatOfSomeModels(t *testing.T) {
	t.Parallel()
	for was, want := range map[string]string{
		`{"acme:triage@1.0.0":{"recommended":["b/before","a/bad"]},"acme:other@1.0.0":{"recommended":["c/d"]}}`: `{"acme:other@1.0.0":{"recommended":["c/d"]},"acme:triage@1.0.0":{"recommended":["b/before"]}}`,
		`null`: `{"acme:triage@1.0.0":{"recommended":[]}}`,
	} {
		path := filepath.Join(t.TempDir(), "compat.json")
		if err := os.WriteFile(path, []byte(was), 0o600); err != nil {
			t.Fatal(err)
		}
		j := job(t, two)
		j.Models = []string{"a/bad"}
		r, err := llmbench.Run(t.Context(), []llmbench.Job{j}, llmbench.Options{
			Call: (&calls{answer: echo}).call, Cache: cache(t, t.TempDir(), false), Parallel: 1,
		})
		if err == nil {
			err = r.WriteCompat(path)
		}
		data, _ := os.ReadFile(path)
		var got bytes.Buffer
		if err != nil || json.Compact(&got, data) != nil || got.String() != want {
			t.Errorf("%s becomes %s, %v", was, data, err)
		}
	}
}

// TestWriteCompatUnderAnotherID keeps what a file says of a built-in tool under the ID of another program.
func TestWriteCompatUnderAnotherID(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "compat.json")
	if err := os.WriteFile(path, []byte(`{"orxa:score@1.0.0": {"recommended": ["b/before"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r := llmbench.Report{Tools: []llmbench.ToolReport{{
		Tool: "callgate:score@1.0.0", Complete: true, Recommended: []string{"a/good"},
	}}}
	if err := r.WriteCompat(path); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	var got map[string]struct{ Recommended []string }
	if err := json.Unmarshal(data, &got); err != nil ||
		!slices.Equal(got["callgate:score@1.0.0"].Recommended, []string{"a/good", "b/before"}) {
		t.Errorf("the file is %s, %v", data, err)
	}
}

func TestWriteCompatKeepsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "compat.json")
	if err := os.WriteFile(path, []byte("not JSON"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := new(llmbench.Report).WriteCompat(path); err == nil {
		t.Error("a file that is none was replaced")
	}
	if data, _ := os.ReadFile(path); string(data) != "not JSON" {
		t.Errorf("the file is %q", data)
	}
}
