package form

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

const schemaOfAll = `{"type":"object","properties":{
  "path":{"type":"string","maxLength":100,"description":"The file."},"content":{"type":"string"},
  "n":{"type":"integer"},"deep":{"type":"boolean","default":true},"mode":{"enum":["fast","slow"]},
  "list":{"type":"array"},"any":{}},"required":["path"]}`

func TestFieldsFollowTheSchema(t *testing.T) {
	t.Parallel()
	var got []string
	for _, f := range Fields(json.RawMessage(schemaOfAll), json.RawMessage(`{"n":3,"extra":"x"}`)) {
		got = append(got, f.Name+"="+string(f.Kind)+":"+f.Value)
	}
	want := "path=text: content=lines: n=number:3 deep=bool: mode=choice: list=json: any=json: extra=lines:x"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, args string
		written    url.Values
		want       string // of what is read; empty: an error
		changed    bool
	}{
		{"nothing is touched", `{"path":"a","n":1}`, url.Values{"arg.path": {"a"}, "arg.n": {"1"}}, `{"path":"a","n":1}`, false},
		{"a text", `{"path":"a"}`, url.Values{"arg.path": {"b\r\nc"}}, `{"path":"b\nc"}`, true},
		{"a text is emptied", `{"path":"a","content":"x"}`, url.Values{"arg.path": {"a"}, "arg.content": {""}}, `{"path":"a","content":""}`, true},
		{"an empty field is left out", `{"path":"a"}`, url.Values{"arg.path": {"a"}, "arg.content": {""}, "arg.n": {""}}, `{"path":"a"}`, false},
		{"a number", `{"path":"a"}`, url.Values{"arg.path": {"a"}, "arg.n": {" 12 "}}, `{"path":"a","n":12}`, true},
		{"no number", `{"path":"a"}`, url.Values{"arg.path": {"a"}, "arg.n": {"twelve"}}, "", false},
		{"a number in quotes", `{"path":"a"}`, url.Values{"arg.path": {"a"}, "arg.n": {`"12"`}}, "", false},
		{"yes or no", `{"path":"a"}`, url.Values{"arg.path": {"a"}, "arg.deep": {"false"}}, `{"path":"a","deep":false}`, true},
		{"a choice", `{"path":"a"}`, url.Values{"arg.path": {"a"}, "arg.mode": {`"slow"`}}, `{"path":"a","mode":"slow"}`, true},
		{"no choice", `{"path":"a"}`, url.Values{"arg.path": {"a"}, "arg.mode": {`"odd"`}}, "", false},
		{"a list", `{"path":"a"}`, url.Values{"arg.path": {"a"}, "arg.list": {"[1, 2]"}}, `{"path":"a","list":[1,2]}`, true},
		{"no JSON", `{"path":"a"}`, url.Values{"arg.path": {"a"}, "arg.list": {"[1"}}, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, changed, _, err := Read(json.RawMessage(schemaOfAll), json.RawMessage(tt.args), tt.written)
			if (err != nil) != (tt.want == "") || string(got) != tt.want || changed != tt.changed {
				t.Errorf("got %s, changed %v, %v; want %s, %v", got, changed, err, tt.want, tt.changed)
			}
		})
	}
}

// A text in which something is hidden is edited as JSON, where it is an escape.
func TestWhatIsHiddenIsEditedAsJSON(t *testing.T) {
	t.Parallel()
	args := json.RawMessage(`{"path":"a` + "\u202e" + `b"}`)
	f := Fields(json.RawMessage(schemaOfAll), args)[0]
	if f.Kind != JSON || f.Value != `"a\u202eb"` {
		t.Errorf("got %s %q", f.Kind, f.Value)
	}
	if _, changed, _, err := Read(json.RawMessage(schemaOfAll), args, url.Values{"arg.path": {f.Value}}); err != nil || changed {
		t.Errorf("it comes back changed: %v, %v", changed, err)
	}
}

func TestArgumentsWithoutASchema(t *testing.T) {
	t.Parallel()
	fields := Fields(nil, nil)
	if len(fields) != 1 || fields[0].Name != Whole {
		t.Fatalf("got %+v", fields)
	}
	got, _, _, err := Read(nil, nil, url.Values{"arg." + Whole: {`{"a": 1}`}})
	if err != nil || string(got) != `{"a":1}` {
		t.Errorf("got %s, %v", got, err)
	}
	if _, _, _, err := Read(nil, nil, url.Values{"arg." + Whole: {`[1]`}}); err == nil {
		t.Error("a list is taken for arguments")
	}
}

// A form that nobody touches gives back arguments that mean the same.
func FuzzUntouched(f *testing.F) {
	f.Add(schemaOfAll, `{"path":"a","n":1,"deep":true,"mode":"fast","list":[1,{"x":null}],"any":"\u202e"}`)
	f.Add(`{"properties":{"a":{"type":["string","null"]}}}`, `{"a":null}`)
	f.Add(`{"properties":{"a":{"type":"string"}}}`, `{"a":"x\r\ny"}`)
	f.Add(`{"properties":{"a":{"enum":[1,"1"]}}}`, `{"a":1.50,"":{}}`)
	f.Add(`[]`, `{"a":1,"a":2}`)
	f.Fuzz(func(t *testing.T, input, args string) {
		if !isObject(json.RawMessage(args)) {
			return
		}
		written := url.Values{}
		for _, field := range Fields(json.RawMessage(input), json.RawMessage(args)) {
			written.Set(field.Input(), strings.ReplaceAll(field.Value, "\n", "\r\n"))
		}
		got, changed, fields, err := Read(json.RawMessage(input), json.RawMessage(args), written)
		if err != nil || changed {
			t.Errorf("%s came back as %s (changed %v): %v\n%+v", args, got, changed, err, fields)
		}
	})
}
