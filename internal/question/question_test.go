package question_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"callgate/internal/question"
	"callgate/tool"
)

func parse(t *testing.T, args string) question.Question {
	t.Helper()
	q, err := question.Parse(json.RawMessage(args))
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return q
}

func named(field string) string { return "answer.q1." + field }

func TestParse(t *testing.T) {
	q := parse(t, `{"question":" Which? ","choices":["a","b"],"timeout":20.5,"default":"b"}`)
	if q.Text != "Which?" || !q.AllowCustom || q.Timeout != 20500*time.Millisecond || q.Default != "b" {
		t.Errorf("%+v", q)
	}
	if q := parse(t, `{"question":"x"}`); q.Timeout != question.DefaultTimeout || q.ResponseType != question.Answer {
		t.Errorf("%+v", q)
	}
	form := parse(t, `{"question":"x","form":[{"label":"Your Name!"},{"label":"Your name"},{"type":"toggle"},{"name":"A b"}]}`).Form
	var names []string
	for _, f := range form {
		names = append(names, f.Name+":"+string(f.Type)+":"+f.Label)
	}
	if got := strings.Join(names, " "); got != "your_name:text:Your Name! your_name_2:text:Your name field_3:boolean:field_3 a_b:text:A b" {
		t.Error(got)
	}
}

// Each mistake of a model is named, with what to write instead.
func TestParseRefuses(t *testing.T) {
	for args, want := range map[string]string{
		`{"question":"  "}`:                                                     "is empty",
		`{"question":"x","timeout":9}`:                                          "10 to 1800",
		`{"question":"x","timeout":1801}`:                                       "10 to 1800",
		`{"question":"x","choices":["a","a"]}`:                                  "twice",
		`{"question":"x","choices":[""]}`:                                       "empty entry",
		`{"question":"x","choices":["a"],"form":[{}]}`:                          "choices or a form",
		`{"question":"x","response_type":"poem"}`:                               "use answer or approval",
		`{"question":"x","response_type":"approval","default":"eh"}`:            "use yes or no",
		`{"question":"x","choices":["a"],"allow_custom":false,"default":"z"}`:   "does not answer",
		`{"question":"x","choices":["a"],"allow_multiple":true,"min_select":2}`: "min_select is 2",
		`{"question":"x","form":[{"name":"a"},{"name":"a"}]}`:                   "two fields",
		`{"question":"x","form":[{"type":"hologram"}]}`:                         "use one of",
		`{"question":"x","form":[{"type":"select"}]}`:                           "needs options",
		`{"question":"x","form":[{"type":"number","min":3,"max":2}]}`:           "min is 3",
		`{"question":"x","form":[{"type":"integer","default":"many"}]}`:         "default does not fit",
		`{"question":"x","form":[{"pattern":"("}]}`:                             "regular expression",
		`{"question":"x","form":[{"type":"password","default":"hunter2"}]}`:     "no default",
		`{"question":"x","form":[{"type":"number","step":0}]}`:                  "step",
		`[]`: "cannot be read",
	} {
		_, err := question.Parse(json.RawMessage(args))
		if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// Every type, as a person types it and as JSON has it, and what does not fit.
func TestFieldValues(t *testing.T) {
	for field, c := range map[string]struct {
		good map[string]any // by the reply, as JSON
		bad  []string
	}{
		`{"type":"text","pattern":"[a-z]+"}`:        {map[string]any{`"abc"`: "abc", `" abc "`: "abc", `""`: nil}, []string{`"ABC"`, `{}`, `"abc1"`}},
		`{"type":"textarea","min_length":3}`:        {map[string]any{`"a\nb"`: "a\nb"}, []string{`"ab"`}},
		`{"type":"number","min":0,"max":2}`:         {map[string]any{`"1.5"`: 1.5, `1`: 1.0}, []string{`"3"`, `"x"`, `true`, `"NaN"`, `"0x1p2"`}},
		`{"type":"float","step":0.1}`:               {map[string]any{`"0.3"`: 0.3}, []string{`"0.35"`}},
		`{"type":"int"}`:                            {map[string]any{`"7"`: int64(7), `7`: int64(7)}, []string{`"7.5"`, `1e300`}},
		`{"type":"checkbox"}`:                       {map[string]any{`"yes"`: true, `"off"`: false, `true`: true}, []string{`"maybe"`, `[]`}},
		`{"type":"radio","options":["Red","Blue"]}`: {map[string]any{`"Red"`: "Red", `"blue"`: "Blue"}, []string{`"green"`}},
		`{"type":"multiselect","options":["a","b, c","d"],"max":2}`: {
			map[string]any{`"a, d"`: []string{"a", "d"}, `["a","a"]`: []string{"a"}, `"b, c"`: []string{"b, c"}}, []string{`"x"`, `["a","d","b, c"]`, `[{}]`},
		},
		`{"type":"date"}`:     {map[string]any{`"2025-02-28"`: "2025-02-28"}, []string{`"2025-02-30"`, `"28.2.2025"`}},
		`{"type":"email"}`:    {map[string]any{`"ann@example.org"`: "ann@example.org"}, []string{`"ann"`, `"Ann <ann@example.org>"`}},
		`{"type":"url"}`:      {map[string]any{`"https://example.org/x"`: "https://example.org/x"}, []string{`"example"`, `"mailto:x"`}},
		`{"type":"password"}`: {map[string]any{`" s3cret "`: " s3cret "}, []string{`[]`}},
		`{"type":"slider"}`:   {map[string]any{`"50"`: 50.0}, []string{`"101"`}},
		`{"type":"stars"}`:    {map[string]any{`"5"`: int64(5)}, []string{`"0"`, `"4.5"`}},
	} {
		f := parse(t, `{"question":"x","form":[`+field+`]}`).Form[0]
		for reply, want := range c.good {
			var v any
			_ = json.Unmarshal([]byte(reply), &v)
			if got, err := f.Value(v); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s takes %s as %#v, %v; want %#v", field, reply, got, err, want)
			}
		}
		for _, reply := range c.bad {
			var v any
			_ = json.Unmarshal([]byte(reply), &v)
			if got, err := f.Value(v); tool.KindOf(err) != tool.Invalid {
				t.Errorf("%s takes %s as %#v, %v", field, reply, got, err)
			}
		}
	}
}

func TestRead(t *testing.T) {
	const choices = `{"question":"x","choices":["a","b","c"]`
	for name, c := range map[string]struct {
		q     string
		reply question.Reply
		want  string // the response; "!" and a part of the error
	}{
		"words":              {`{"question":"x"}`, question.Reply{Text: " so \x00"}, "so"},
		"nothing":            {`{"question":"x"}`, question.Reply{}, "!empty"},
		"the default":        {`{"question":"x","default":"d"}`, question.Reply{}, "d"},
		"a choice":           {choices + `}`, question.Reply{Choices: []string{"B"}}, "b"},
		"own words":          {choices + `}`, question.Reply{Text: "none of them"}, "none of them"},
		"no own words":       {choices + `,"allow_custom":false}`, question.Reply{Text: "z"}, "!not one of"},
		"two of one":         {choices + `}`, question.Reply{Choices: []string{"a", "b"}}, "!choose one"},
		"several":            {choices + `,"allow_multiple":true}`, question.Reply{Choices: []string{"a", "c"}}, "selected a, c"},
		"too few":            {choices + `,"allow_multiple":true,"min_select":2}`, question.Reply{Choices: []string{"a"}}, "!at least 2"},
		"too many":           {choices + `,"allow_multiple":true,"max_select":1}`, question.Reply{Choices: []string{"a", "b"}}, "!at most 1"},
		"choices of nothing": {`{"question":"x"}`, question.Reply{Choices: []string{"a"}}, "!no choices"},
		"a form of nothing":  {`{"question":"x"}`, question.Reply{Fields: map[string]any{"a": 1}}, "!no form"},
	} {
		c.reply.Approve = true
		g, err := question.Read(parse(t, c.q), c.reply, named)
		if want, fails := strings.CutPrefix(c.want, "!"); fails && (err == nil || !strings.Contains(err.Error(), want)) ||
			!fails && (err != nil || g.Response != want) {
			t.Errorf("%s: %q, %v; want %q", name, g.Response, err, c.want)
		}
	}
}

// A form is a list for a reader, typed values beside it, and no password anywhere.
func TestReadForm(t *testing.T) {
	q := parse(t, `{"question":"x","form":[{"name":"port","type":"integer","required":true},{"label":"TLS?","type":"bool","default":true},
		{"name":"pw","type":"password"},{"name":"more"}]}`)
	g, err := question.Read(q, question.Reply{Approve: true, Fields: map[string]any{"port": "8080", "pw": "hunter2"}}, named)
	if err != nil {
		t.Fatal(err)
	}
	want := "- port: 8080\n- TLS?: yes\n- pw: given, and kept as the secret answer.q1.pw"
	if g.Response != want || g.Secrets["answer.q1.pw"] != "hunter2" {
		t.Errorf("%q", g.Response)
	}
	data, _ := json.Marshal(q.Outcome(&g))
	if strings.Contains(string(data), "hunter2") || !strings.Contains(string(data), `"port":8080`) {
		t.Errorf("%s", data)
	}
	_, err = question.Read(q, question.Reply{Approve: true, Fields: map[string]any{"pw": "x", "other": 1, "tls": "eh"}}, named)
	for _, part := range []string{"other: there is no such field", "port: is needed", "tls: must be yes or no"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %v, want %q in it", err, part)
		}
	}
}

func TestSilence(t *testing.T) {
	for args, want := range map[string]string{
		`{"question":"x"}`:               "",
		`{"question":"x","default":"d"}`: "d",
		`{"question":"x","response_type":"approval","default":false}`:                    "false",
		`{"question":"x","form":[{"name":"a","default":3,"type":"int"}]}`:                "- a: 3",
		`{"question":"x","form":[{"name":"a","required":true},{"name":"b"}]}`:            "",
		`{"question":"x","choices":["a","b"],"allow_multiple":true,"default":["a","b"]}`: "selected a, b",
	} {
		q := parse(t, args)
		g, ok := q.Silence()
		told := q.Outcome(nil)
		if ok {
			told = q.Outcome(&g)
		}
		if ok != (want != "") || told.UserResponse != want || told.Status != question.StatusTimeout || told.DefaultUsed != ok {
			t.Errorf("%s: %+v", args, told)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"question":"x","choices":["a"],"default":"a","timeout":30}`))
	f.Add([]byte(`{"question":"x","form":[{"type":"multiselect","options":["a","b"],"default":["a"]},{"label":"É"}]}`))
	f.Fuzz(func(t *testing.T, args []byte) {
		q, err := question.Parse(args)
		if err != nil {
			if tool.KindOf(err) != tool.Invalid {
				t.Errorf("%s: %v", args, err)
			}
			return
		}
		seen := map[string]bool{}
		for _, field := range q.Form {
			if field.Name == "" || seen[field.Name] || strings.ContainsAny(field.Name, "= \n") {
				t.Errorf("%s: the name %q", args, field.Name)
			}
			seen[field.Name] = true
		}
		if g, ok := q.Silence(); q.HasDefault() != ok {
			t.Errorf("%s: the default is lost: %+v", args, g)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"question":"x","form":[{"type":"number","name":"n","step":0.5},{"type":"password","name":"p"}]}`), []byte(`{"approve":true,"fields":{"n":"1.5","p":"verysecret"}}`))
	f.Add([]byte(`{"question":"x","choices":["a","b"],"allow_multiple":true}`), []byte(`{"approve":true,"choices":["a"],"text":"b"}`))
	f.Fuzz(func(t *testing.T, args, reply []byte) {
		q, err := question.Parse(args)
		var r question.Reply
		if err != nil || json.Unmarshal(reply, &r) != nil {
			return
		}
		g, err := question.Read(q, r, named)
		if err != nil {
			if tool.KindOf(err) != tool.Invalid {
				t.Errorf("%s %s: %v", args, reply, err)
			}
			return
		}
		if _, err := json.Marshal(q.Outcome(&g)); err != nil {
			t.Error(err)
		}
	})
}
