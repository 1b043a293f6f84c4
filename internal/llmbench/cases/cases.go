// Package cases reads the cases of a benchmark of an LLM-backed tool, and checks answers.
//
//	tool: desk:triage@1.0.0
//	repeats: 3
//	cases:
//	  - name: fire
//	    input: {ticket: it burns}
//	    checks:
//	      - {exact: true, at: urgent}
//	      - {contains: fire, at: why, weight: 0.5}
//
// # Law
//
// A file is read whole or not at all: what is wrong with it is said with its line. An answer that is
// no result of its tool, because it does not match the schema, has a score of 0 whatever the checks
// are. The score of any other is the weighted mean of its checks, each from 0 to 1, and 1 where there
// are none.
package cases

import (
	"encoding/json"
	"math"
	"strconv"

	"callgate/internal/app/node"
	"callgate/internal/condition"
)

// Suite is the cases of one tool.
type Suite struct {
	File    string
	Tool    string // by any of its names
	Repeats int    // how often each case is asked; 0: as the command says
	Cases   []Case
}

// Case is one input, and what is expected of the answer.
type Case struct {
	Name   string
	Input  json.RawMessage
	Weight float64
	Checks []Check
}

// MaxFile is the size of a file of cases at most.
const MaxFile = node.MaxBytes

const caseForm = "write each case as {input: {ticket: it burns}, checks: [{exact: true, at: urgent}]}"

// verbatim leaves texts as they are written: a case is data.
type verbatim struct{}

// Expand returns the text.
func (verbatim) Expand(_ *node.Reader, _ node.Entry, text string) (string, bool) { return text, true }

// Parse reads a file of cases. Its error names the file, the line, and what to do.
func Parse(file string, data []byte) (*Suite, error) {
	r, root, ok := node.Open(file, data, node.Keys{}, verbatim{})
	s := &Suite{File: file}
	if ok {
		s.read(r, root)
	}
	if err := node.Err(r.Report); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Suite) read(r *node.Reader, root node.Entry) {
	r.Mapping("a file of cases", root, map[string]node.Read{
		"tool":    r.TextInto(&s.Tool),
		"repeats": r.Number(&s.Repeats, 1, 100, "write how often each case is asked, from 1 to 100"),
		"cases": func(e node.Entry) {
			for i, in := range r.Items(e, "a list of cases", caseForm) {
				s.Cases = append(s.Cases, readCase(r, in, i))
			}
		},
	})
	switch {
	case s.Tool == "":
		r.Fail(root.At, "write tool: desk:triage@1.0.0", "the file does not say of which tool its cases are")
	case len(s.Cases) == 0:
		r.Fail(root.At, caseForm, "the file has no cases")
	}
	names := map[string]bool{}
	for _, c := range s.Cases {
		if names[c.Name] {
			r.Fail(root.At, "give each case a name of its own", "there are two cases %s", node.Quote(c.Name))
		}
		names[c.Name] = true
	}
}

func readCase(r *node.Reader, e node.Entry, i int) Case {
	c := Case{Name: "case " + strconv.Itoa(i+1), Weight: 1, Input: json.RawMessage("{}")}
	r.Mapping("cases", e, map[string]node.Read{
		"name":   r.Label(&c.Name),
		"weight": weight(r, &c.Weight),
		"input": func(in node.Entry) {
			if !in.IsMapping() {
				r.TypeError(in, "the tool's arguments", "write input: {ticket: it burns}")
				return
			}
			c.Input = value(r, in)
		},
		"checks": func(in node.Entry) {
			for _, one := range r.Items(in, "a list of checks", checkForm) {
				c.Checks = append(c.Checks, readCheck(r, one))
			}
		},
	})
	return c
}

func weight(r *node.Reader, to *float64) node.Read {
	return func(e node.Entry) {
		w := new(float64)
		r.Decimal(&w, 0, 1000)(e)
		*to = *w
	}
}

// value reads any value as JSON.
func value(r *node.Reader, e node.Entry) json.RawMessage {
	raw, err := json.Marshal(r.Value(e))
	if err != nil {
		r.Fail(e.At, "write it as JSON would", "%s cannot be written as JSON: %v", e.Name(), err)
		return nil
	}
	return raw
}

const checkForm = "write each check as one of {exact: …}, {contains: …}, {number: {min: 0, max: 1}}, " +
	"{expression: 'urgent == true'}, {judged: {task: …}}, {max_cost: 0.001}, {max_latency: 2s}; " +
	"{at: path.to.value} names a part of the answer"

// kinds are the keys of which a check has one.
var kinds = []string{"exact", "contains", "number", "expression", "judged", "max_cost", "max_latency"}

func readCheck(r *node.Reader, e node.Entry) Check {
	c := Check{Weight: 1}
	has := 0
	for _, kind := range kinds {
		if e.Has(kind) {
			c.Kind = kind
			has++
		}
	}
	r.Mapping("checks", e, map[string]node.Read{
		"exact":       func(in node.Entry) { c.Value = value(r, in) },
		"contains":    r.TextInto(&c.Text),
		"number":      func(in node.Entry) { c.readRange(r, in) },
		"expression":  func(in node.Entry) { c.readExpression(r, in) },
		"judged":      func(in node.Entry) { c.readJudge(r, in) },
		"max_cost":    func(in node.Entry) { r.Decimal(&c.Max, 0, 1e6)(in) },
		"max_latency": r.Duration(&c.Latency),
		"at":          r.TextInto(&c.At),
		"weight":      weight(r, &c.Weight),
	})
	if has != 1 {
		r.Fail(e.At, checkForm, "a check has one kind, and this one has %d", has)
	}
	return c
}

func (c *Check) readRange(r *node.Reader, e node.Entry) {
	r.Mapping("number", e, map[string]node.Read{
		"min": r.Decimal(&c.Min, -math.MaxFloat64, math.MaxFloat64),
		"max": r.Decimal(&c.Max, -math.MaxFloat64, math.MaxFloat64),
	})
	if c.Min == nil && c.Max == nil || c.Min != nil && c.Max != nil && *c.Min > *c.Max {
		r.Fail(e.At, "write number: {min: 0, max: 1}", "%s leaves no number, or every one", e.Name())
	}
}

func (c *Check) readExpression(r *node.Reader, e node.Entry) {
	text, ok := r.Text(e)
	if !ok {
		return
	}
	var err error
	c.Expression, err = condition.Compile(text, condition.Env{
		Roots: map[string]condition.Type{"result": {}, "input": {Kind: condition.Map}}, Implied: "result", Safe: true,
	})
	if err != nil {
		r.FailExpression(e, err)
	}
}

func (c *Check) readJudge(r *node.Reader, e node.Entry) {
	c.Judge = &Judge{By: DefaultJudge}
	atLeast := new(float64)
	r.Mapping("judged", e, map[string]node.Read{
		"task":     r.TextInto(&c.Judge.Task),
		"criteria": r.Texts(&c.Judge.Criteria, "write a list of criteria, such as [accuracy, clarity]"),
		"by":       r.TextInto(&c.Judge.By),
		"at_least": r.Decimal(&atLeast, 0, 100),
	})
	c.Judge.AtLeast = *atLeast
	if c.Judge.Task == "" {
		const remedy = "write judged: {task: 'Say whether it is urgent, and why'}"
		r.Fail(e.At, remedy, "%s does not say what the task was", e.Name())
	}
}

// DefaultJudge is the tool that judges answers where a check names no other.
const DefaultJudge = "callgate:score@1.0.0"
