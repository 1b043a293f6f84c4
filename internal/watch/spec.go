package watch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"callgate/internal/nearest"
	"callgate/tool"
)

// op is the operation of errors about a specification.
const op = "watch_start"

// request is a specification as a model writes it. The keys in the second part are
// those that models write instead.
type request struct {
	Name         string          `json:"name"`
	Params       json.RawMessage `json:"params"`
	Interval     *float64        `json:"interval"`
	Label        string          `json:"label"`
	MaxChecks    *float64        `json:"max_checks"`
	Expires      json.RawMessage `json:"expires"`
	NotifyWhen   string          `json:"notify_when"`
	NotifyConfig notifyConfig    `json:"notify_config"`
	NotifyFirst  bool            `json:"notify_first"`
	Actions      []actionRequest `json:"actions"`

	synonyms
}

// synonyms are the keys that models write in the place of others.
type synonyms struct {
	Tool       string          `json:"tool"`
	ToolName   string          `json:"tool_name"`
	Args       json.RawMessage `json:"args"`
	Arguments  json.RawMessage `json:"arguments"`
	Condition  string          `json:"condition"`
	Predicate  string          `json:"predicate"`
	Expression string          `json:"expression"`
}

type notifyConfig struct {
	Expression string   `json:"expression"`
	BatchSize  *float64 `json:"batch_size"`
	Repeat     bool     `json:"repeat"`
}

type actionRequest struct {
	Name      string          `json:"name"`
	Params    json.RawMessage `json:"params"`
	Tool      string          `json:"tool"`
	Args      json.RawMessage `json:"args"`
	Arguments json.RawMessage `json:"arguments"`
}

// Parse reads the arguments of watch_start. The names of tools are as they were
// written; that they can be called is not known here, nor what the result is.
func Parse(raw json.RawMessage, now time.Time) (Spec, error) {
	var r request
	if err := tool.DecodeArgs(op, raw, &r); err != nil {
		return Spec{}, err
	}
	s := Spec{Tool: strings.TrimSpace(cmp.Or(r.Name, r.Tool, r.ToolName)), Label: strings.TrimSpace(r.Label)}
	for _, read := range []func(*request, time.Time) error{s.readCall, s.readTimes, s.readNotify, s.readActions} {
		if err := read(&r, now); err != nil {
			return Spec{}, err
		}
	}
	return s, nil
}

func invalid(format string, args ...any) *tool.Error {
	return tool.Errorf(op, tool.Invalid, format, args...)
}

// readCall reads what is called.
func (s *Spec) readCall(r *request, _ time.Time) (err error) {
	switch {
	case s.Tool == "":
		return invalid("no tool is named").WithHint(`give its name and parameters: {"name":"…","params":{…}}`)
	case utf8.RuneCountInString(s.Tool) > MaxName:
		return invalid("the tool's name is longer than %d characters", MaxName)
	case utf8.RuneCountInString(s.Label) > MaxLabel:
		return invalid("the label is longer than %d characters", MaxLabel)
	}
	s.Params, err = object("params", r.Params, r.Args, r.Arguments)
	return err
}

// object reads the first of several values that is there: an object, or the text of
// one.
func object(where string, values ...json.RawMessage) (json.RawMessage, error) {
	for _, v := range values {
		v = bytes.TrimSpace(v)
		if len(v) == 0 || string(v) == "null" {
			continue
		}
		var text string
		if json.Unmarshal(v, &text) == nil {
			v = []byte(text)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(v, &fields); err != nil || fields == nil {
			return nil, invalid("%s is not a JSON object", where).WithHint(`write it as in {"path":"a.txt"}`)
		}
		if len(v) > MaxParams {
			return nil, invalid("%s is larger than %d bytes", where, MaxParams)
		}
		return json.Marshal(fields)
	}
	return nil, nil
}

// readTimes reads when it is checked, how often, and until when.
func (s *Spec) readTimes(r *request, now time.Time) (err error) {
	s.Interval = DefaultInterval
	if r.Interval != nil {
		low, high := MinInterval.Seconds(), MaxInterval.Seconds()
		if !(*r.Interval >= low && *r.Interval <= high) {
			return invalid("interval is %v seconds, and must be %v to %v", *r.Interval, low, high)
		}
		s.Interval = time.Duration(*r.Interval * float64(time.Second)).Round(time.Millisecond)
	}
	if s.MaxChecks, err = whole("max_checks", r.MaxChecks, 0, MaxChecks, 0); err != nil {
		return err
	}
	s.Expires, err = parseExpires(r.Expires, now)
	return err
}

// whole reads a whole number within bounds.
func whole(where string, v *float64, low, high, otherwise int) (int, error) {
	if v == nil {
		return otherwise, nil
	}
	n := int(*v)
	if !(*v >= float64(low) && *v <= float64(high)) || float64(n) != *v {
		return 0, invalid("%s is %v, and must be a whole number from %d to %d", where, *v, low, high)
	}
	return n, nil
}

// parseExpires reads a time: seconds from now, a duration such as 2h30m or "in 2h", or
// a moment as ISO 8601, in UTC where it names no zone.
func parseExpires(raw json.RawMessage, now time.Time) (time.Time, error) {
	const hint = `give seconds from now (3600), a duration ("2h30m") or a moment ("2030-01-02T15:04:05Z")`
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" || string(raw) == `""` {
		return time.Time{}, nil
	}
	var seconds float64
	var text string
	var at time.Time
	switch {
	case json.Unmarshal(raw, &seconds) == nil:
		if !(seconds > 0 && seconds <= MaxLife.Seconds()) {
			return at, invalid("expires is %v seconds from now, and must be above 0 and at most ten years", seconds).
				WithHint(hint)
		}
		at = now.Add(time.Duration(seconds * float64(time.Second)))
	case json.Unmarshal(raw, &text) == nil:
		var ok bool
		if at, ok = moment(strings.TrimSpace(text), now); !ok {
			return at, invalid("expires is %q, which is no time", tool.Truncate(text)).WithHint(hint)
		}
	default:
		return at, invalid("expires is no time").WithHint(hint)
	}
	if !at.After(now) || at.After(now.Add(MaxLife)) {
		return at, invalid("expires is %s, and must be in the next ten years", at.Format(time.RFC3339)).WithHint(hint)
	}
	return at.Round(0), nil
}

// moment reads a duration from now, or a moment.
func moment(text string, now time.Time) (time.Time, bool) {
	if d, err := time.ParseDuration(strings.TrimSpace(strings.TrimPrefix(text, "in "))); err == nil {
		if d > MaxLife || d <= 0 {
			return time.Time{}, false
		}
		return now.Add(d), true
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// readNotify reads when it tells.
func (s *Spec) readNotify(r *request, _ time.Time) (err error) {
	n := &s.Notify
	n.When, n.First, n.Repeat = OnChange, r.NotifyFirst, r.NotifyConfig.Repeat
	n.Expression = strings.TrimSpace(cmp.Or(r.NotifyConfig.Expression, r.Expression, r.Condition, r.Predicate))
	if r.NotifyWhen != "" {
		var ok bool
		if n.When, ok = strategy(r.NotifyWhen); !ok {
			return unknownStrategy(r.NotifyWhen)
		}
	} else if n.Expression != "" {
		n.When = OnCondition
	} else if s.Tool == Journal { // no record is like another
		n.When = EveryCheck
	}
	switch {
	case n.When == OnCondition && n.Expression == "":
		return invalid("%s needs notify_config.expression", cmp.Or(r.NotifyWhen, "on_condition")).
			WithHint(`as in {"notify_config":{"expression":"result.count > 5"}}`)
	case n.When != OnCondition && n.Expression != "":
		return invalid("notify_config.expression is for on_condition, and notify_when is %s", n.When).
			WithHint("leave one of them out")
	case n.When != OnCondition && n.Repeat:
		return invalid("notify_config.repeat is for on_condition, and notify_when is %s", n.When)
	case n.When != Summary && r.NotifyConfig.BatchSize != nil:
		return invalid("notify_config.batch_size is for summary, and notify_when is %s", n.When)
	case n.When == Summary:
		n.Batch, err = whole("notify_config.batch_size", r.NotifyConfig.BatchSize, 1, MaxBatch, DefaultBatch)
	}
	return err
}

func unknownStrategy(name string) error {
	var known []string
	for _, s := range strategyNames {
		known = append(known, s.name)
	}
	e := invalid("notify_when is %q", tool.Truncate(name)).
		WithHint("use on_change, on_condition, on_error, every_check or summary")
	if near := nearest.Name(name, known); near != "" {
		e = e.WithHint("did you mean %s?", near)
	}
	return e
}

// readActions reads the calls that follow.
func (s *Spec) readActions(r *request, _ time.Time) error {
	if len(r.Actions) > MaxActions {
		return invalid("%d actions are listed, of at most %d", len(r.Actions), MaxActions)
	}
	for i, a := range r.Actions {
		name := strings.TrimSpace(cmp.Or(a.Name, a.Tool))
		if name == "" || utf8.RuneCountInString(name) > MaxName {
			return invalid("action %d names no tool", i+1).WithHint(`as in {"name":"…","params":{"text":"{{result}}"}}`)
		}
		params, err := object("params of action "+tool.Truncate(name), a.Params, a.Args, a.Arguments)
		if err != nil {
			return err
		}
		s.Actions = append(s.Actions, Action{Tool: name, Params: params})
	}
	return nil
}
