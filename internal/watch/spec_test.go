package watch_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/condition"
	"callgate/internal/watch"
	"callgate/tool"
)

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func TestParse(t *testing.T) {
	plain := watch.Spec{Tool: "fs.read", Interval: 30 * time.Second, Notify: watch.Notify{When: watch.OnChange}}
	for name, c := range map[string]struct {
		args string
		want func(*watch.Spec)
	}{
		"the least": {`{"name":"fs.read"}`, func(*watch.Spec) {}},
		"all of it": {
			`{"name":"fs.read","params":{"path":"a"},"interval":5,"label":" x ","max_checks":7,"notify_first":true,
			"expires":"2030-01-02T04:00:00Z","notify_when":"on_error","actions":[{"name":"fs.write","params":{"t":"{{error}}"}}]}`,
			func(s *watch.Spec) {
				s.Params, s.Interval, s.Label, s.MaxChecks = json.RawMessage(`{"path":"a"}`), 5*time.Second, "x", 7
				s.Expires = time.Date(2030, 1, 2, 4, 0, 0, 0, time.UTC)
				s.Notify = watch.Notify{When: watch.OnError, First: true}
				s.Actions = []watch.Action{{Tool: "fs.write", Params: json.RawMessage(`{"t":"{{error}}"}`)}}
			},
		},
		"other words": {
			`{"tool":"fs.read","arguments":"{\"path\":\"a\"}","predicate":"count > 5","actions":[{"tool":"x","args":{}}]}`,
			func(s *watch.Spec) {
				s.Params = json.RawMessage(`{"path":"a"}`)
				s.Notify = watch.Notify{When: watch.OnCondition, Expression: "count > 5"}
				s.Actions = []watch.Action{{Tool: "x", Params: json.RawMessage(`{}`)}}
			},
		},
		"on_threshold": {
			`{"name":"fs.read","notify_when":"on_threshold","notify_config":{"expression":"a > 1","repeat":true}}`,
			func(s *watch.Spec) {
				s.Notify = watch.Notify{When: watch.OnCondition, Expression: "a > 1", Repeat: true}
			},
		},
		"always":          {`{"name":"fs.read","notify_when":"Always"}`, func(s *watch.Spec) { s.Notify.When = watch.EveryCheck }},
		"summary":         {`{"name":"fs.read","notify_when":"summary"}`, func(s *watch.Spec) { s.Notify = watch.Notify{When: watch.Summary, Batch: 10} }},
		"one second":      {`{"name":"fs.read","interval":1}`, func(s *watch.Spec) { s.Interval = time.Second }},
		"an hour":         {`{"name":"fs.read","interval":3600}`, func(s *watch.Spec) { s.Interval = time.Hour }},
		"between seconds": {`{"name":"fs.read","interval":1.5}`, func(s *watch.Spec) { s.Interval = 1500 * time.Millisecond }},
		"expires later":   {`{"name":"fs.read","expires":"in 2h"}`, func(s *watch.Spec) { s.Expires = now.Add(2 * time.Hour) }},
		"expires seconds": {`{"name":"fs.read","expires":90}`, func(s *watch.Spec) { s.Expires = now.Add(90 * time.Second) }},
		"the journal": {`{"name":"journal"}`, func(s *watch.Spec) {
			s.Tool, s.Notify.When = "journal", watch.EveryCheck
		}},
	} {
		want := plain
		c.want(&want)
		got, err := watch.Parse(json.RawMessage(c.args), now)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	long := strings.Repeat("x", 300)
	for args, says := range map[string]string{
		`{}`:                                                                      "no tool is named",
		`{"name":" "}`:                                                            "no tool is named",
		`{"name":"` + long + `"}`:                                                 "longer than 256",
		`{"name":"a","label":"` + long + `"}`:                                     "the label is longer than 256",
		`{"name":"a","params":[1]}`:                                               "params is not a JSON object",
		`{"name":"a","params":"{"}`:                                               "params is not a JSON object",
		`{"name":"a","interval":0.2}`:                                             "interval is 0.2 seconds, and must be 1 to 3600",
		`{"name":"a","interval":0}`:                                               "must be 1 to 3600",
		`{"name":"a","interval":-1}`:                                              "must be 1 to 3600",
		`{"name":"a","interval":3601}`:                                            "must be 1 to 3600",
		`{"name":"a","interval":1e300}`:                                           "must be 1 to 3600",
		`{"name":"a","max_checks":-1}`:                                            "max_checks is -1",
		`{"name":"a","max_checks":10001}`:                                         "from 0 to 10000",
		`{"name":"a","max_checks":1.5}`:                                           "must be a whole number",
		`{"name":"a","expires":"soon"}`:                                           `expires is "soon", which is no time`,
		`{"name":"a","expires":"2029-01-01T00:00:00Z"}`:                           "must be in the next ten years",
		`{"name":"a","expires":"2050-01-01T00:00:00Z"}`:                           "must be in the next ten years",
		`{"name":"a","expires":-5}`:                                               "above 0",
		`{"name":"a","expires":[]}`:                                               "expires is no time",
		`{"name":"a","notify_when":"on_chnage"}`:                                  "did you mean on_change",
		`{"name":"a","notify_when":"whenever"}`:                                   "use on_change",
		`{"name":"a","notify_when":"on_threshold"}`:                               "on_threshold needs notify_config.expression",
		`{"name":"a","notify_when":"on_change","expression":"a > 1"}`:             "is for on_condition",
		`{"name":"a","notify_config":{"repeat":true}}`:                            "repeat is for on_condition",
		`{"name":"a","notify_config":{"batch_size":3}}`:                           "batch_size is for summary",
		`{"name":"a","notify_when":"summary","notify_config":{"batch_size":0}}`:   "from 1 to 100",
		`{"name":"a","notify_when":"summary","notify_config":{"batch_size":2.5}}`: "must be a whole number",
		`{"name":"a","actions":[{"params":{}}]}`:                                  "action 1 names no tool",
		`{"name":"a","actions":[{"name":"b","params":3}]}`:                        "params of action b is not a JSON object",
		`{"name":"a","actions":[{},{},{},{},{},{},{},{},{},{},{}]}`:               "of at most 10",
	} {
		_, err := watch.Parse(json.RawMessage(args), now)
		if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", tool.Truncate(args), err)
		}
	}
}

// The expressions are checked when the watcher is made.
func TestExpressionsRefused(t *testing.T) {
	result := condition.Type{Kind: condition.Map, Closed: true, Fields: map[string]condition.Type{"count": {Kind: condition.Number}}}
	for args, says := range map[string]string{
		`{"name":"a","expression":"result.count > "}`:                         "notify_config.expression: the expression is wrong at character 15",
		`{"name":"a","expression":"result.cuont > 5"}`:                        "did you mean count",
		`{"name":"a","expression":"result.count == done"}`:                    "cannot compare",
		`{"name":"a","actions":[{"name":"b","params":{"x":"{{result.y}}"}}]}`: "actions: b: x: the expression is wrong",
	} {
		s, err := watch.Parse(json.RawMessage(args), now)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := watch.New("w", s, result); tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"name":"fs.read","params":{"path":"a"},"interval":5,"notify_when":"summary","notify_config":{"batch_size":3}}`)
	f.Add(`{"tool":"x","expires":"in 2h","actions":[{"name":"b","params":"{}"}],"expression":"result > 5"}`)
	f.Add(`{"name":"x","interval":1e999,"max_checks":"3"}`)
	f.Fuzz(func(t *testing.T, args string) {
		s, err := watch.Parse(json.RawMessage(args), now)
		if err != nil {
			return
		}
		if s.Interval < watch.MinInterval || s.Interval > watch.MaxInterval || s.Tool == "" || s.MaxChecks < 0 ||
			s.MaxChecks > watch.MaxChecks || !s.Expires.IsZero() && !s.Expires.After(now) {
			t.Fatalf("%s became %+v", args, s)
		}
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		var again watch.Spec
		if err := json.Unmarshal(data, &again); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if w, err := watch.New("w", again, condition.Type{}); err == nil {
			w.Check(watch.Check{At: now, Result: json.RawMessage(`{"count":1}`)})
			w.Check(watch.Check{At: now, Result: json.RawMessage(`[1]`)})
		}
	})
}
