package cases_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"callgate/internal/llmbench/cases"
	"callgate/tool"
)

const whole = `tool: desk:triage@1.0.0
repeats: 2
cases:
- name: fire
  weight: 2
  input: {ticket: it burns, note: "{{secret.KEY}} $HOME"}
  checks:
  - {exact: true, at: urgent}
  - {exact: {a: [1, null]}, at: list.0}
  - {contains: Fire, at: why, weight: 0.5}
  - {number: {min: 0, max: 1}, at: sure}
  - {expression: 'urgent == true and input.ticket contains burns'}
  - {max_cost: 0.01}
  - {max_latency: 2s}
  - {judged: {task: Say why, criteria: [clarity], at_least: 60, by: 'desk:judge@1.0.0'}}
- input: {}
`

func TestParse(t *testing.T) {
	t.Parallel()
	s, err := cases.Parse("bench/triage.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	if s.Tool != "desk:triage@1.0.0" || s.Repeats != 2 || len(s.Cases) != 2 || s.Cases[1].Name != "case 2" ||
		s.Cases[1].Weight != 1 || s.Cases[0].Weight != 2 || len(s.Cases[0].Checks) != 8 {
		t.Fatalf("the suite is %+v", s)
	}
	// A case is data: nothing in it is filled in.
	if got := string(s.Cases[0].Input); got != `{"note":"{{secret.KEY}} $HOME","ticket":"it burns"}` {
		t.Errorf("the input is %s", got)
	}
	right := cases.Answer{
		Input: s.Cases[0].Input, Cost: 0.01, Priced: true, Latency: 2 * time.Second,
		Result: json.RawMessage(`{"urgent": true, "list": [{"a": [1, null]}], "why": "a fire", "sure": 0.9}`),
	}
	wrong := cases.Answer{
		Input: s.Cases[0].Input, Cost: 0.02, Priced: true, Latency: 3 * time.Second,
		Result: json.RawMessage(`{"urgent": "true", "list": [{"a": [1, 0]}], "why": ["smoke"], "sure": 1.1}`),
	}
	for _, c := range s.Cases[0].Checks {
		if c.Judge != nil {
			continue
		}
		if ok, why := c.Meets(right); !ok {
			t.Errorf("%s is not met: %s", c, why)
		}
		if ok, _ := c.Meets(wrong); ok {
			t.Errorf("%s is met by %s", c, wrong.Result)
		}
		if ok, _ := c.Meets(cases.Answer{Input: right.Input, Result: json.RawMessage(`"text"`), Latency: time.Hour}); ok {
			t.Errorf("%s is met by a text", c)
		}
	}
	judge := s.Cases[0].Checks[7].Judge
	args, err := judge.Args(cases.Answer{Result: json.RawMessage(`"a text"`)})
	if err != nil || string(args) != `{"answer":"a text","criteria":["clarity"],"task":"Say why"}` {
		t.Errorf("the judge is asked %s, %v", args, err)
	}
	for text, want := range map[string]float64{`{"score": 80}`: 0.8, `{"score": 59}`: 0, `{"score": 100, "feedback": "x"}`: 1} {
		if got, err := judge.Score(json.RawMessage(text)); got != want || err != nil {
			t.Errorf("%s counts %v, %v", text, got, err)
		}
	}
	for _, text := range []string{`{}`, `"x"`, `{"score": 101}`, ``, `{"score": null}`} {
		if _, err := judge.Score(json.RawMessage(text)); err == nil {
			t.Errorf("%q is a score", text)
		}
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	check := func(text string) string { return "tool: a.b\ncases:\n- input: {}\n  checks:\n  - " + text + "\n" }
	for name, tc := range map[string]struct{ text, says string }{
		"empty":        {"", "empty"},
		"no YAML":      {"tool: [", "f.yaml:1"},
		"no tool":      {"cases: [{input: {}}]", "of which tool"},
		"no cases":     {"tool: a.b", "no cases"},
		"a key":        {"tool: a.b\ncase: []", "f.yaml:2"},
		"input":        {"tool: a.b\ncases:\n- input: text", "f.yaml:3"},
		"twice":        {"tool: a.b\ncases: [{name: x}, {name: x}]", "two cases"},
		"repeats":      {"tool: a.b\nrepeats: 0\ncases: [{}]", "f.yaml:2"},
		"no kind":      {check("{at: x}"), "one kind"},
		"two kinds":    {check("{exact: 1, contains: x}"), "one kind"},
		"mistyped":     {check("{exakt: 1}"), "f.yaml:5"},
		"range":        {check("{number: {min: 2, max: 1}}"), "leaves no number"},
		"expression":   {check("{expression: 'urgent ==='}"), "f.yaml:5"},
		"a judge":      {check("{judged: {criteria: [x]}}"), "what the task was"},
		"latency":      {check("{max_latency: soon}"), "no time"},
		"weight":       {check("{exact: 1, weight: -1}"), "weight"},
		"second wrong": {"tool: a.b\ncases:\n- {}\n- {inputt: {}}", "f.yaml:4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := cases.Parse("f.yaml", []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.says) || tool.KindOf(err) != tool.Invalid {
				t.Errorf("the error is %v, want %q", err, tc.says)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add("tool: a.b\ncases: [{input: {x: 1}, checks: [{exact: [1, {a: b}]}]}]")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := cases.Parse("f.yaml", []byte(text))
		if err != nil {
			return
		}
		for _, c := range s.Cases {
			if !json.Valid(c.Input) || c.Name == "" || c.Weight < 0 {
				t.Fatalf("a case is %+v", c)
			}
			for _, check := range c.Checks {
				if check.Judge == nil {
					check.Meets(cases.Answer{Input: c.Input, Result: json.RawMessage(`{"a": [1, "b"]}`)})
				}
				_ = check.String()
			}
		}
	})
}
