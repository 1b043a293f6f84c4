package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"callgate/internal/condition"
	"callgate/tool"
)

// Check is one thing that is expected of an answer.
type Check struct {
	Kind   string // exact, contains, number, expression, judged, max_cost or max_latency
	At     string // the part of the answer; "": all of it
	Weight float64

	Value      json.RawMessage // of exact
	Text       string          // of contains
	Min, Max   *float64        // of number; Max is the US dollars of max_cost
	Expression *condition.Condition
	Judge      *Judge
	Latency    time.Duration
}

// Judge says how a tool judges an answer. The tool is given task, answer and criteria, and gives a score
// from 0 to 100.
type Judge struct {
	By       string
	Task     string
	Criteria []string
	AtLeast  float64 // a lower score counts as 0
}

// Answer is what a model answered, and what it took.
type Answer struct {
	Input   json.RawMessage
	Result  json.RawMessage // a text is a JSON text
	Cost    float64         // US dollars
	Priced  bool
	Latency time.Duration
}

// Args are the arguments with which the judge is called.
func (j Judge) Args(a Answer) (json.RawMessage, error) {
	args := map[string]any{"task": j.Task, "answer": plain(a.Result)}
	if len(j.Criteria) > 0 {
		args["criteria"] = j.Criteria
	}
	return json.Marshal(args)
}

// Score reads what the judge gave: from 0 to 1.
func (j Judge) Score(result json.RawMessage) (float64, error) {
	var out struct {
		Score *float64 `json:"score"`
	}
	if err := json.Unmarshal(result, &out); err != nil || out.Score == nil || !(*out.Score >= 0 && *out.Score <= 100) {
		return 0, tool.Errorf("cases.Score", tool.Failed, "the judge %s gave no score from 0 to 100: %s",
			j.By, tool.Truncate(string(result)))
	}
	if *out.Score < j.AtLeast {
		return 0, nil
	}
	return *out.Score / 100, nil
}

// String names the check, for a report.
func (c Check) String() string {
	at := ""
	if c.At != "" {
		at = " at " + c.At
	}
	switch c.Kind {
	case "exact":
		return "exact " + tool.TruncateTo(string(c.Value), 60) + at
	case "contains":
		return "contains " + strconv.Quote(tool.TruncateTo(c.Text, 60)) + at
	case "number":
		return "number " + bound(c.Min) + " to " + bound(c.Max) + at
	case "expression":
		return "expression " + tool.TruncateTo(c.Expression.String(), 80)
	case "judged":
		return "judged by " + c.Judge.By
	case "max_cost":
		return fmt.Sprintf("max_cost %g", *c.Max)
	}
	return "max_latency " + c.Latency.String()
}

func bound(n *float64) string {
	if n == nil {
		return "any"
	}
	return strconv.FormatFloat(*n, 'g', -1, 64)
}

// Meets reports whether an answer meets a check that no judge decides. Why says what is wrong.
func (c Check) Meets(a Answer) (ok bool, why string) {
	switch c.Kind {
	case "max_cost":
		if !a.Priced {
			return false, "its price is not known"
		}
		return a.Cost <= *c.Max, fmt.Sprintf("it cost %.6f", a.Cost)
	case "max_latency":
		return a.Latency <= c.Latency, "it took " + a.Latency.Round(time.Millisecond).String()
	}
	whole, err := decode(a.Result)
	if err != nil {
		return false, err.Error()
	}
	if c.Kind == "expression" {
		return c.holds(a, whole)
	}
	part, found := at(whole, c.At)
	if !found {
		return false, "there is no " + c.At
	}
	got := "it is " + tool.TruncateTo(plain(encode(part)), 80)
	switch c.Kind {
	case "exact":
		want, err := decode(c.Value)
		return err == nil && reflect.DeepEqual(want, part), got
	case "contains":
		return contains(part, c.Text), got
	default: // number
		n, isNumber := part.(float64)
		return isNumber && (c.Min == nil || n >= *c.Min) && (c.Max == nil || n <= *c.Max), got
	}
}

func (c Check) holds(a Answer, whole any) (bool, string) {
	input, err := decode(a.Input)
	if err != nil {
		return false, err.Error()
	}
	ok, err := c.Expression.Eval(map[string]any{"result": whole, "input": input})
	if err != nil {
		return false, err.Error()
	}
	return ok, "it does not hold"
}

// contains reports whether a text has a part, whatever the case, or a list an element.
func contains(v any, text string) bool {
	if list, ok := v.([]any); ok {
		for _, one := range list {
			if contains(one, text) {
				return true
			}
		}
		return false
	}
	return strings.Contains(strings.ToLower(plain(encode(v))), strings.ToLower(text))
}

// at returns a part of a value: a.path.0.
func at(v any, path string) (any, bool) {
	if path == "" {
		return v, true
	}
	step, rest, _ := strings.Cut(path, ".")
	switch in := v.(type) {
	case map[string]any:
		next, ok := in[step]
		if !ok {
			return nil, false
		}
		return at(next, rest)
	case []any:
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(in) {
			return nil, false
		}
		return at(in[i], rest)
	}
	return nil, false
}

func decode(raw json.RawMessage) (v any, err error) {
	err = json.NewDecoder(bytes.NewReader(raw)).Decode(&v)
	return v, err
}

func encode(v any) json.RawMessage {
	raw, _ := json.Marshal(v) // it was decoded
	return raw
}

// plain writes JSON as a reader wants it: a text without its quotes.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
