package prompted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/source/prompted"
	"callgate/llm"
	"callgate/llmtool"
	"callgate/tool"
)

// scripted is a model that gives its answers one after the other.
type scripted struct {
	mu       sync.Mutex
	answers  []reply
	requests []llm.Request
}

// reply is one answer, or a failure.
type reply struct {
	text string
	stop llm.Stop
	err  error
	// before the answer begins, and while it lasts
	silent, slow time.Duration
}

func (m *scripted) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	m.mu.Lock()
	m.requests = append(m.requests, req)
	if len(m.answers) == 0 {
		m.mu.Unlock()
		return nil, errors.New("the script is at its end")
	}
	a := m.answers[0]
	m.answers = m.answers[1:]
	m.mu.Unlock()
	for i, wait := range []time.Duration{a.silent, a.slow} {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, &llm.Error{Kind: llm.Cancelled, Message: "stopped", Err: ctx.Err()}
		}
		if i == 0 && watch != nil {
			watch(llm.Delta{Kind: llm.DeltaText, Text: a.text})
		}
	}
	if a.err != nil {
		return nil, a.err
	}
	stop := a.stop
	if stop == "" {
		stop = llm.StopEnd
	}
	return &llm.Response{
		Message: llm.TextMessage(llm.Assistant, a.text), Stop: stop,
		Usage: llm.Usage{Input: 100, Output: 10, Cost: 7, Priced: true},
	}, nil
}

// world is the models of a test.
type world struct {
	models      map[string]*scripted
	windows     map[string]int
	outputs     map[string]int
	recommended []string
	byDefault   string
	denied      string
	limits      prompted.Limits
	opened      []string
}

func (w *world) Open(_ context.Context, name string) (prompted.Opened, error) {
	w.opened = append(w.opened, name)
	if name == w.denied {
		return prompted.Opened{}, tool.Errorf("test", tool.Denied, "nobody accepted %s", name)
	}
	m := w.models[name]
	if m == nil {
		return prompted.Opened{}, tool.Errorf("test", tool.Unavailable, "there is no key")
	}
	provider, model, err := llmtool.SplitModel(name)
	if err != nil {
		return prompted.Opened{}, err
	}
	return prompted.Opened{
		Model: m, MaxOutput: w.outputs[name],
		Target: llmtool.Target{Provider: provider, Model: model, Window: w.windows[name]},
	}, nil
}

func (w *world) Recommended(tool.ID) []string { return w.recommended }
func (w *world) Default() string              { return w.byDefault }
func (w *world) Limits() prompted.Limits      { return w.limits }
func (w *world) Choose(name string) error {
	if name == w.denied {
		return tool.Errorf("test", tool.Denied, "nobody accepted %s", name)
	}
	return nil
}

// lent are the models of every call.
func (w *world) lent(tool.Call, tool.Grant) prompted.Models { return w }

// run runs a definition with arguments.
func (w *world) run(t *testing.T, d llmtool.Definition, args string) *tool.Result {
	t.Helper()
	return w.runWith(t, &prompted.Runner{Models: w.lent}, d, args)
}

func (w *world) runWith(t *testing.T, r *prompted.Runner, d llmtool.Definition, args string) *tool.Result {
	t.Helper()
	made, err := llmtool.Define(d)
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Bind(made).Handler.Execute(t.Context(), tool.Call{Args: json.RawMessage(args)}, tool.Grant{})
	if err != nil {
		var e *tool.Error
		if !errors.As(err, &e) {
			t.Fatalf("an error of no kind: %v", err)
		}
		return &tool.Result{Status: tool.Failure, Error: e}
	}
	return res
}

// triage is a tool that answers with JSON.
func triage(models ...string) llmtool.Definition {
	d := llmtool.Definition{
		ID: "acme:triage@1.0.0", Description: "Decides how urgent a ticket is.",
		InputSchema: json.RawMessage(`{"type":"object","required":["ticket"],
			"properties":{"ticket":{"type":"string"},"mode":{"type":"string"}}}`),
		OutputSchema: json.RawMessage(`{"type":"object","required":["urgent","parts"],"additionalProperties":false,
			"properties":{"urgent":{"type":"boolean"},"parts":{"type":"array","items":{"type":"integer"}}}}`),
		SystemPrompt: "You sort tickets.", UserTemplate: "Is this urgent? {{ticket}}",
	}
	if len(models) > 0 {
		d.ModelPreference = llmtool.Preference{Preferred: models[0], Fallbacks: models[1:]}
	}
	return d
}

const (
	good = `{"urgent": true, "parts": [1]}`
	args = `{"ticket": "it burns"}`
)

func says(texts ...string) *scripted {
	m := &scripted{}
	for _, text := range texts {
		m.answers = append(m.answers, reply{text: text})
	}
	return m
}

func fails(kind llm.Kind) *scripted {
	return &scripted{answers: []reply{{err: &llm.Error{Kind: kind, Message: string(kind)}}}}
}

// outcomes lists the attempts of a result: model outcome.
func outcomes(r *tool.Result) (all []string) {
	for _, a := range r.Attempts {
		all = append(all, fmt.Sprintf("%s %s", a.Model, a.Outcome))
	}
	return all
}

func TestOrderOfModels(t *testing.T) {
	none := llmtool.Preference{}
	for _, test := range []struct {
		name        string
		recommended []string
		preference  llmtool.Preference
		byDefault   string
		want        []string
	}{
		{"the default where nothing is named", nil, none, "d/d", []string{"d/d"}},
		{"the preferred one and its fallbacks", nil, llmtool.Preference{Preferred: "a/a", Fallbacks: []string{"b/b", "a/a"}},
			"d/d", []string{"a/a", "b/b"}},
		{"what was measured comes first", []string{"c/c", "b/b"}, llmtool.Preference{Preferred: "a/a", Fallbacks: []string{"b/b"}},
			"d/d", []string{"c/c", "b/b", "a/a"}},
		{"the default is no last fallback", []string{"c/c"}, none, "d/d", []string{"c/c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &world{models: map[string]*scripted{}, recommended: test.recommended, byDefault: test.byDefault}
			for _, name := range []string{"a/a", "b/b", "c/c", "d/d"} {
				w.models[name] = fails(llm.Unavailable)
			}
			d := triage()
			d.ModelPreference = test.preference
			res := w.run(t, d, args)
			var asked []string
			for _, a := range res.Attempts {
				asked = append(asked, a.Model)
			}
			if !slices.Equal(asked, test.want) {
				t.Errorf("%v were asked, want %v", asked, test.want)
			}
		})
	}
}

// TestFallbackIsAnotherModel asks two models of one provider: the second is really asked.
func TestFallbackIsAnotherModel(t *testing.T) {
	w := &world{models: map[string]*scripted{"p/one": fails(llm.Unavailable), "p/two": says(good)}}
	res := w.run(t, triage("p/one", "p/two"), args)
	if res.Status != tool.Success || len(w.models["p/two"].requests) != 1 || len(w.models["p/one"].requests) != 1 {
		t.Errorf("the result is %+v", res)
	}
}

// TestOutcomes asks one model, and a second that would answer well.
func TestOutcomes(t *testing.T) {
	failing := func(kind llm.Kind) []reply { return []reply{{err: &llm.Error{Kind: kind, Message: "no"}}} }
	for _, test := range []struct {
		name    string
		answers []reply
		want    []string
	}{
		{"good at once", []reply{{text: good}}, []string{"a/a ok"}},
		{"in a fence, with words", []reply{{text: "Here [1]:\n```json\n" + good + "\n```"}}, []string{"a/a ok"}},
		{"mended when shown", []reply{{text: "I think so"}, {text: good}}, []string{"a/a malformed", "a/a ok"}},
		{"of another shape, mended", []reply{{text: `{"urgent": "yes"}`}, {text: good}}, []string{"a/a mismatched", "a/a ok"}},
		{"a nested value of another type", []reply{{text: `{"urgent": true, "parts": ["x"]}`}, {text: `[]`}},
			[]string{"a/a mismatched", "a/a mismatched", "b/b ok"}},
		{"a fraction for an integer", []reply{{text: `{"urgent": true, "parts": [1.5]}`}, {text: good}},
			[]string{"a/a mismatched", "a/a ok"}},
		{"never JSON", []reply{{text: "no"}, {text: "no"}}, []string{"a/a malformed", "a/a malformed", "b/b ok"}},
		{"refused", []reply{{text: "I won't", stop: llm.StopRefusal}}, []string{"a/a refused", "b/b ok"}},
		{"filtered", failing(llm.Refused), []string{"a/a refused", "b/b ok"}},
		{"429", failing(llm.RateLimited), []string{"a/a limited", "b/b ok"}},
		{"500", failing(llm.Unavailable), []string{"a/a unavailable", "b/b ok"}},
		{"too long", failing(llm.ContextOverflow), []string{"a/a too_long", "b/b ok"}},
		{"a wrong key", failing(llm.Auth), []string{"a/a no_key", "b/b ok"}},
		{"a bad request", failing(llm.BadRequest), []string{"a/a invalid", "b/b ok"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &world{models: map[string]*scripted{"a/a": {answers: test.answers}, "b/b": says(good)}}
			res := w.run(t, triage("a/a", "b/b"), args)
			if got := outcomes(res); !slices.Equal(got, test.want) {
				t.Errorf("the attempts are %q, want %q", got, test.want)
			}
			if res.Status != tool.Success || string(res.Data) != good {
				t.Errorf("the result is %s %s", res.Status, res.Data)
			}
		})
	}
}

// TestRepairShowsTheMistake looks at the second request.
func TestRepairShowsTheMistake(t *testing.T) {
	w := &world{models: map[string]*scripted{"a/a": says(`{"urgent": "yes", "parts": []}`, good)}}
	w.run(t, triage("a/a"), args)
	requests := w.models["a/a"].requests
	if len(requests) != 2 || len(requests[1].Messages) != 3 {
		t.Fatalf("the requests are %+v", requests)
	}
	second := requests[1].Messages
	if second[1].Text() != `{"urgent": "yes", "parts": []}` || !strings.Contains(second[2].Text(), `urgent: want true or false, got text "yes"`) {
		t.Errorf("the model is shown %q, %q", second[1].Text(), second[2].Text())
	}
	none := 0
	d := triage("b/b")
	d.Repairs = &none
	w.models["b/b"] = says("no", good)
	if res := w.run(t, d, args); res.Status != tool.Failure || len(w.models["b/b"].requests) != 1 {
		t.Errorf("without repairs: %+v", res)
	}
}

// TestTruncated is no bad JSON: more room is given once, and models without more are not asked.
func TestTruncated(t *testing.T) {
	cut := reply{text: `{"urgent": true, "par`, stop: llm.StopLength}
	w := &world{
		models: map[string]*scripted{
			"a/a": {answers: []reply{cut, cut}}, "b/small": says(good), "c/large": says(good),
		},
		outputs: map[string]int{"a/a": 300, "b/small": 300, "c/large": 9000},
	}
	d := triage("a/a", "b/small", "c/large")
	d.ModelPreference.MaxTokens = 100
	res := w.run(t, d, args)
	want := []string{"a/a truncated", "a/a truncated", "c/large ok"}
	if got := outcomes(res); !slices.Equal(got, want) {
		t.Errorf("the attempts are %q, want %q", got, want)
	}
	if r := w.models["a/a"].requests; r[0].MaxTokens != 100 || r[1].MaxTokens != 300 || len(r[1].Messages) != 1 {
		t.Errorf("the limits are %d, %d", r[0].MaxTokens, r[1].MaxTokens)
	}
	w.models["a/a"] = &scripted{answers: []reply{cut}}
	res = w.run(t, triage("a/a"), args)
	if res.Error == nil || !strings.Contains(res.Error.Error(), "cut off") || strings.Contains(res.Error.Error(), "JSON") {
		t.Errorf("the error is %v", res.Error)
	}
}

// TestRoom asks no model for more than it can write, or than any can, whatever a definition says.
func TestRoom(t *testing.T) {
	d := triage("a/known", "b/unknown")
	d.ModelPreference.MaxTokens = math.MaxInt
	resolved := d
	resolved.ModelPreference.MaxTokens = 0
	resolved.ResolveMaxTokens = func(map[string]any, llmtool.Target) int { return math.MaxInt }
	for _, d := range []llmtool.Definition{d, resolved} {
		cut := reply{text: `{`, stop: llm.StopLength}
		w := &world{
			models:  map[string]*scripted{"a/known": fails(llm.Unavailable), "b/unknown": {answers: []reply{cut, cut}}},
			outputs: map[string]int{"a/known": 300},
		}
		w.run(t, d, args)
		known, unknown := w.models["a/known"].requests, w.models["b/unknown"].requests
		if len(known) != 1 || known[0].MaxTokens != 300 {
			t.Errorf("a model that writes 300 tokens was sent %+v", known)
		}
		if len(unknown) != 1 || unknown[0].MaxTokens != 1_000_000 {
			t.Errorf("a model of which nothing is known was sent %+v", unknown)
		}
	}
}

func TestFallbacksOfTheirOwn(t *testing.T) {
	w := func() *world {
		return &world{
			models: map[string]*scripted{
				"a/a": fails(llm.ContextOverflow), "b/b": says(good), "l/long": says(good), "f/free": says(good), "a/r": fails(llm.Refused),
			},
			windows: map[string]int{"a/a": 1000, "b/b": 500},
		}
	}
	d := triage("a/a", "b/b")
	d.ModelPreference.TooLong, d.ModelPreference.Refused = []string{"l/long"}, []string{"f/free"}
	if got := outcomes(w().run(t, d, args)); !slices.Equal(got, []string{"a/a too_long", "l/long ok"}) {
		t.Errorf("too long: %q", got)
	}
	d.ModelPreference.Preferred = "a/r"
	if got := outcomes(w().run(t, d, args)); !slices.Equal(got, []string{"a/r refused", "f/free ok"}) {
		t.Errorf("refused: %q", got)
	}
	d = triage("a/a", "b/b")
	if res := w().run(t, d, args); !slices.Equal(outcomes(res), []string{"a/a too_long"}) {
		t.Errorf("a smaller window was asked too: %q", outcomes(res))
	}
}

func TestUsageIsOfAllAttempts(t *testing.T) {
	var done llmtool.CallComplete
	partial := &llm.Error{Kind: llm.BrokenStream, Partial: &llm.Response{Usage: llm.Usage{Input: 50, Output: 5, Cost: 3, Priced: true}}}
	w := &world{models: map[string]*scripted{
		"a/a": {answers: []reply{{text: "no"}, {err: partial}}}, "b/b": says(good),
	}}
	r := &prompted.Runner{Models: w.lent, Hooks: llmtool.Hooks{
		OnInternalToolCallComplete: func(c llmtool.CallComplete) { done = c },
	}}
	w.runWith(t, r, triage("a/a", "b/b"), args)
	want := llmtool.Usage{Input: 250, Output: 25, Cost: 17, Priced: true}
	if done.Usage == nil || *done.Usage != want || done.Attempts != 2 || done.ChosenModel != "b/b" || string(done.Output) != good {
		t.Errorf("complete says %+v, want usage %+v", done, want)
	}
}

func TestHooks(t *testing.T) {
	var seen []string
	w := &world{models: map[string]*scripted{"a/a": says(`{}`, `{}`), "c/c": says(good)}}
	r := &prompted.Runner{Models: w.lent, Hooks: llmtool.Hooks{
		OnInternalToolCallStart: func(s llmtool.CallStart) {
			seen = append(seen, fmt.Sprintf("start %s %d", s.ChosenModel, s.Attempt))
		},
		OnInternalToolCallComplete: func(c llmtool.CallComplete) { seen = append(seen, "complete "+c.ChosenModel) },
		OnInternalToolCallError: func(e llmtool.CallError) {
			seen = append(seen, fmt.Sprintf("error %s %d %t", e.ChosenModel, e.Attempt, e.WillRetry))
		},
		OnWarning: func(w llmtool.Warning) { seen = append(seen, w.Code+" "+w.FailedModel) },
	}}
	w.runWith(t, r, triage("a/a", "b/nokey", "c/c"), args)
	want := []string{
		"start a/a 1", "output_schema_mismatch ", "output_schema_mismatch ", "error a/a 1 true", "internal_tool_fallback a/a",
		"start c/c 2", "complete c/c",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("the hooks saw\n%q, want\n%q", seen, want)
	}
	seen = nil
	w.models["a/a"] = fails(llm.Unavailable)
	w.runWith(t, r, triage("a/a", "b/nokey"), args)
	if !slices.Equal(seen, []string{"start a/a 1", "error a/a 1 false"}) {
		t.Errorf("the rest has no key, and the hooks saw %q", seen)
	}
	seen = nil
	w.runWith(t, r, triage(), args)
	if !slices.Equal(seen, []string{"start  1", "error  1 false"}) {
		t.Errorf("without a model the hooks saw %q", seen)
	}
}

// TestNothingIsSentWithoutAKey checks the keys before anything runs.
func TestNothingIsSentWithoutAKey(t *testing.T) {
	w := &world{models: map[string]*scripted{}}
	res := w.run(t, triage("a/a", "b/b"), args)
	if res.Error == nil || res.Error.Kind != tool.Unavailable || len(res.Attempts) != 0 ||
		!strings.Contains(res.Error.Error(), "a/a: there is no key; b/b: there is no key") {
		t.Errorf("the result is %+v", res.Error)
	}
	res = w.run(t, triage(), args)
	if res.Error == nil || !strings.Contains(res.Error.Hint, "default_model") {
		t.Errorf("without a model: %+v", res.Error)
	}
	w = &world{models: map[string]*scripted{"b/b": says(good)}, denied: "a/a"}
	if res := w.run(t, triage("a/a", "b/b"), args); res.Error == nil || res.Error.Kind != tool.Denied {
		t.Errorf("what nobody accepted was walked around: %+v", res)
	}
}

func TestTotalFailureListsModels(t *testing.T) {
	w := &world{models: map[string]*scripted{"a/a": fails(llm.Unavailable), "b/b": fails(llm.Auth)}}
	res := w.run(t, triage("a/a", "b/b", "c/c"), args)
	for _, part := range []string{"acme:triage@1.0.0", "all 3 models", "a/a: ", "b/b: ", "c/c: there is no key"} {
		if !strings.Contains(res.Error.Error(), part) {
			t.Errorf("%q is not in %q", part, res.Error.Error())
		}
	}
}

func TestLimitsOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{models: map[string]*scripted{
			"silent/m": {answers: []reply{{text: good, silent: time.Minute}}},
			"slow/m":   {answers: []reply{{text: good, slow: time.Hour}}},
			"fine/m":   {answers: []reply{{text: good, silent: 4 * time.Second, slow: 20 * time.Second}}},
		}}
		w.limits = prompted.Limits{FirstToken: 5 * time.Second, Total: 30 * time.Second}
		res := w.run(t, triage("silent/m", "slow/m", "fine/m"), args)
		want := []string{"silent/m timeout", "slow/m timeout", "fine/m ok"}
		if got := outcomes(res); !slices.Equal(got, want) {
			t.Errorf("the attempts are %q, want %q", got, want)
		}
		for i, took := range []time.Duration{5 * time.Second, 30 * time.Second, 24 * time.Second} {
			if res.Attempts[i].Took != took {
				t.Errorf("attempt %d took %v, want %v", i, res.Attempts[i].Took, took)
			}
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{models: map[string]*scripted{
			"a/a": {answers: []reply{{text: good, silent: time.Hour}}}, "b/b": says(good),
		}}
		made, err := llmtool.Define(triage("a/a", "b/b"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := &prompted.Runner{Models: w.lent}
		res, err := r.Bind(made).Handler.Execute(ctx, tool.Call{Args: json.RawMessage(args)}, tool.Grant{})
		if err != nil || res.Error == nil || res.Error.Kind != tool.Cancelled || len(w.models["b/b"].requests) != 0 {
			t.Errorf("the result is %+v, %v", res, err)
		}
	})
}

// TestSchemaOfTheCaller holds an answer to the schema that the call gives.
func TestSchemaOfTheCaller(t *testing.T) {
	d := llmtool.Definition{
		ID: "acme:structure@1.0.0", Description: "Gives a text a structure.", UserTemplate: "{{text}}", OutputSchemaFrom: "schema",
		InputSchema:     json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"schema":{"type":"object"}}}`),
		ModelPreference: llmtool.Preference{Preferred: "a/a"},
	}
	w := &world{models: map[string]*scripted{"a/a": says(`{"n": "one"}`, `{"n": 1}`)}}
	res := w.run(t, d, `{"text": "one", "schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}`)
	if got := outcomes(res); !slices.Equal(got, []string{"a/a mismatched", "a/a ok"}) || string(res.Data) != `{"n": 1}` {
		t.Errorf("the attempts are %q, the result %s", got, res.Data)
	}
	if sent := w.models["a/a"].requests[0]; !strings.Contains(sent.System, `"n":{"type":"integer"}`) || len(sent.Output) == 0 {
		t.Errorf("the model was asked %+v", sent)
	}
	for _, args := range []string{`{"text": "x"}`, `{"text": "x", "schema": {"type": "objekt"}}`} {
		res := w.run(t, d, args)
		if res.Error == nil || res.Error.Kind != tool.Invalid || !strings.Contains(res.Error.Error(), "schema is no JSON Schema") {
			t.Errorf("%s: %+v", args, res.Error)
		}
	}
}

// TestChosenModel asks the model that a call chooses and no other, behind everybody else's requests.
func TestChosenModel(t *testing.T) {
	t.Parallel()
	w := &world{models: map[string]*scripted{"a/x": {}, "b/y": {}}, denied: "c/z"}
	made, err := llmtool.Define(llmtool.Definition{
		ID: "acme:say@1.0.0", Description: "Says.", UserTemplate: "Say it.",
		ModelPreference: llmtool.Preference{Preferred: "a/x", Fallbacks: []string{"b/y"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := (&prompted.Runner{Models: w.lent}).Bind(made).Handler
	chosen := func(name string, bench bool) tool.Call {
		return tool.Call{Args: json.RawMessage(`{}`), ModelChoice: tool.ModelChoice{Model: name, Bench: bench}}
	}
	_, _ = h.Execute(t.Context(), chosen("b/y", true), tool.Grant{})
	if len(w.models["a/x"].requests) != 0 || len(w.models["b/y"].requests) != 1 ||
		w.models["b/y"].requests[0].Priority != llm.PriorityLow {
		t.Errorf("asked were %+v and %+v", w.models["a/x"].requests, w.models["b/y"].requests)
	}
	if _, err := h.Execute(t.Context(), chosen("c/z", false), tool.Grant{}); tool.KindOf(err) != tool.Denied {
		t.Errorf("one that may not be chosen: %v", err)
	}
}

// TestChosenModelAlone: a call that chooses a model has that one answer, or none.
func TestChosenModelAlone(t *testing.T) {
	d := triage("a/first", "a/second")
	d.ModelPreference.TooLong, d.ModelPreference.OrDefault = []string{"a/large"}, true
	for name, first := range map[string]*scripted{"no key": nil, "too long": fails(llm.ContextOverflow)} {
		w := &world{byDefault: "a/own", models: map[string]*scripted{
			"a/second": says(good), "a/large": says(good), "a/own": says(good),
		}}
		if first != nil {
			w.models["a/first"] = first
		}
		made, err := llmtool.Define(d)
		if err != nil {
			t.Fatal(err)
		}
		bound := (&prompted.Runner{Models: w.lent}).Bind(made)
		call := tool.Call{Args: json.RawMessage(args), ModelChoice: tool.ModelChoice{Model: "a/first"}}
		res, err := bound.Handler.Execute(t.Context(), call, tool.Grant{})
		if err == nil && res.Status == tool.Success {
			t.Errorf("%s: %s", name, res.Summary)
		}
		for other, m := range w.models {
			if other != "a/first" && len(m.requests) > 0 {
				t.Errorf("%s: %s was asked", name, other)
			}
		}
	}
}
