package schema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/schema"
	"callgate/internal/gate/schema/schematest"
	"callgate/tool"
)

func TestCoercions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, schema, args string
		want               string // "" when it must be refused
		note               string
		strict             bool // whether Strict does the same
	}{
		{"integer text", schematest.Prop(`{"type":"integer"}`), `{"x":"40"}`,
			`{"x":40}`, `x: "40" (text) taken as the number 40`, true},
		{"negative integer text", schematest.Prop(`{"type":"integer"}`),
			`{"x":"-7"}`, `{"x":-7}`, `x: "-7" (text) taken as the number -7`, true},
		{"integral decimal text", schematest.Prop(`{"type":"integer"}`),
			`{"x":"40.0"}`, `{"x":40}`, `x: "40.0" (text) taken as the number 40`, true},
		{"integral exponent text", schematest.Prop(`{"type":"integer"}`),
			`{"x":"1e3"}`, `{"x":1000}`, `x: "1e3" (text) taken as the number 1000`, true},
		{"number text", schematest.Prop(`{"type":"number"}`), `{"x":"1.50"}`,
			`{"x":1.50}`, `x: "1.50" (text) taken as the number 1.50`, true},
		{"long number text keeps its digits", schematest.Prop(`{"type":"integer"}`), `{"x":"12345678901234567890123"}`,
			`{"x":12345678901234567890123}`, `x: "12345678901234567890123" (text) taken as the number 12345678901234567890123`,
			true},
		{"number text with spaces", schematest.Prop(`{"type":"number"}`),
			`{"x":" 2 "}`, `{"x":2}`, `x: " 2 " (text) taken as the number 2`, false},
		{"true text", schematest.Prop(`{"type":"boolean"}`), `{"x":"true"}`,
			`{"x":true}`, `x: "true" (text) taken as true`, true},
		{"false text", schematest.Prop(`{"type":"boolean"}`), `{"x":"false"}`,
			`{"x":false}`, `x: "false" (text) taken as false`, true},
		{"boolean text in another case", schematest.Prop(`{"type":"boolean"}`),
			`{"x":"True"}`, `{"x":true}`, `x: "True" (text) taken as true`, false},
		{"null text", schematest.Prop(`{"type":["integer","null"]}`),
			`{"x":"null"}`, `{"x":null}`, `x: "null" (text) taken as null`, false},
		{"number to text", schematest.Prop(`{"type":"string"}`), `{"x":5}`,
			`{"x":"5"}`, `x: the number 5 taken as the text "5"`, false},
		{"number to text keeps its writing", schematest.Prop(`{"type":"string"}`),
			`{"x":1.10}`, `{"x":"1.10"}`, `x: the number 1.10 taken as the text "1.10"`, false},
		{"boolean to text", schematest.Prop(`{"type":"string"}`), `{"x":true}`,
			`{"x":"true"}`, `x: true taken as the text "true"`, false},
		{"one text to a list", schematest.Prop(`{"type":"array","items":{"type":"string"}}`),
			`{"x":"a"}`, `{"x":["a"]}`, `x: "a" (text) taken as a list of one`, false},
		{"one object to a list", schematest.Prop(`{"type":"array","items":{"type":"object"}}`),
			`{"x":{"a":1}}`, `{"x":[{"a":1}]}`, `x: an object with a taken as a list of one`, false},
		{"text that only begins like JSON to a list", schematest.Prop(`{"type":"array","items":{"type":"string"}}`),
			`{"x":"[draft] a"}`, `{"x":["[draft] a"]}`, `x: "[draft] a" (text) taken as a list of one`, false},
		{"JSON text to an object", schematest.Prop(`{"type":"object"}`),
			`{"x":"{\"a\":1}"}`, `{"x":{"a":1}}`, `x: JSON text taken as an object`, false},
		{"JSON text to a list", schematest.Prop(`{"type":"array"}`),
			`{"x":" [1, 2] "}`, `{"x":[1,2]}`, `x: JSON text taken as a list`, false},
		{"arguments as one JSON text", schematest.Prop(`{"type":"string"}`),
			`"{\"x\":\"a\"}"`, `{"x":"a"}`, `the arguments: JSON text taken as an object`, false},
		{"allowed value in another case", schematest.Prop(`{"enum":["overwrite","append"]}`),
			`{"x":"Overwrite"}`, `{"x":"overwrite"}`, `x: "Overwrite" (text) taken as "overwrite"`, false},
		{"typed allowed value in another case", schematest.Prop(`{"type":"string","enum":["GET","POST"]}`),
			`{"x":"get"}`, `{"x":"GET"}`, `x: "get" (text) taken as "GET"`, false},
		{"fixed value in another case", schematest.Prop(`{"const":"On"}`),
			`{"x":"on"}`, `{"x":"On"}`, `x: "on" (text) taken as "On"`, false},
		{"allowed number as text", schematest.Prop(`{"enum":[1,2.0]}`),
			`{"x":"2"}`, `{"x":2.0}`, `x: "2" (text) taken as 2.0`, true},
		{"allowed boolean as text", schematest.Prop(`{"enum":[true]}`),
			`{"x":"true"}`, `{"x":true}`, `x: "true" (text) taken as true`, true},
		{"allowed text as number", schematest.Prop(`{"enum":["1","2"]}`),
			`{"x":2}`, `{"x":"2"}`, `x: the number 2 taken as "2"`, false},
		{"constants of a oneOf in another case", schematest.Prop(`{"oneOf":[{"const":"a"},{"const":"b"}]}`),
			`{"x":"B"}`, `{"x":"b"}`, `x: "B" (text) taken as "b"`, false},
		{"behind a ref", `{"properties":{"x":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`,
			`{"x":"4"}`, `{"x":4}`, `x: "4" (text) taken as the number 4`, true},
		{"number or null", schematest.Prop(`{"anyOf":[{"type":"integer"},{"type":"null"}]}`),
			`{"x":"4"}`, `{"x":4}`, `x: "4" (text) taken as the number 4`, true},
		{"the plain alternative rather than the list",
			schematest.Prop(`{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"integer"}]}`), `{"x":"5"}`,
			`{"x":5}`, `x: "5" (text) taken as the number 5`, true},
		{"the alternative its fixed value points to",
			schematest.Prop(`{"anyOf":[{"properties":{"k":{"const":"a"},"n":{"type":"string",` +
				`"maxLength":0}}},{"properties":{"k":{"const":"b"},"n":{"type":"integer"}}}]}`),
			`{"x":{"k":"b","n":"5"}}`, `{"x":{"k":"b","n":5}}`, `x.n: "5" (text) taken as the number 5`, true},

		{"digits inside text", schematest.Prop(`{"type":"integer"}`), `{"x":"12abc"}`, "", "", true},
		{"number in words", schematest.Prop(`{"type":"integer"}`), `{"x":"forty"}`, "", "", true},
		{"fraction for an integer", schematest.Prop(`{"type":"integer"}`), `{"x":"40.5"}`, "", "", true},
		{"leading plus", schematest.Prop(`{"type":"integer"}`), `{"x":"+4"}`, "", "", true},
		{"leading zero", schematest.Prop(`{"type":"integer"}`), `{"x":"007"}`, "", "", true},
		{"hexadecimal", schematest.Prop(`{"type":"integer"}`), `{"x":"0x10"}`, "", "", true},
		{"digits set apart", schematest.Prop(`{"type":"integer"}`), `{"x":"1,000"}`, "", "", true},
		{"empty text for a number", schematest.Prop(`{"type":"number"}`), `{"x":""}`, "", "", true},
		{"not a number", schematest.Prop(`{"type":"number"}`), `{"x":"NaN"}`, "", "", true},
		{"number text with an absurd exponent", schematest.Prop(`{"type":"number"}`), `{"x":"1e999999"}`, "", "", true},
		{"yes for a boolean", schematest.Prop(`{"type":"boolean"}`), `{"x":"yes"}`, "", "", true},
		{"one for a boolean", schematest.Prop(`{"type":"boolean"}`), `{"x":1}`, "", "", true},
		{"boolean for a number", schematest.Prop(`{"type":"integer"}`), `{"x":true}`, "", "", true},
		{"null for text", schematest.Prop(`{"type":"string"}`), `{"x":null}`, "", "", true},
		{"null for a list", schematest.Prop(`{"type":"array"}`), `{"x":null}`, "", "", true},
		{"empty text for a list", schematest.Prop(`{"type":"array"}`), `{"x":""}`, "", "", true},
		{"a list for one value", schematest.Prop(`{"type":"integer"}`), `{"x":[1]}`, "", "", true},
		{"an object for text", schematest.Prop(`{"type":"string"}`), `{"x":{}}`, "", "", true},
		{"one value for a list of lists",
			schematest.Prop(`{"type":"array","items":{"type":"array"}}`), `{"x":5}`, "", "", true},
		{"one value for a list of lists, alone", `{"type":"array","items":{"type":"array"}}`, `5`, "", "", true},
		{"JSON text that is cut off", schematest.Prop(`{"type":"object"}`), `{"x":"{\"a\":1"}`, "", "", true},
		{"JSON text of another type", schematest.Prop(`{"type":"object"}`), `{"x":"[1]"}`, "", "", true},
		{"text twice wrapped", schematest.Prop(`{"type":"string"}`), `"\"{\\\"x\\\":\\\"a\\\"}\""`, "", "", true},
		{"case that is ambiguous", schematest.Prop(`{"enum":["ab","AB"]}`), `{"x":"aB"}`, "", "", true},
		{"an allowed value with spaces", schematest.Prop(`{"enum":["ab"]}`), `{"x":"ab "}`, "", "", true},
		{"text where text is welcome in one alternative",
			schematest.Prop(`{"anyOf":[{"type":"integer"},{"type":"string","minLength":3}]}`), `{"x":"4"}`, "", "", true},
		{"text where some texts are welcome",
			schematest.Prop(`{"anyOf":[{"type":"integer"},{"enum":["auto"]}]}`), `{"x":"4"}`, "", "", true},
		{"a coercion that does not make the whole valid",
			schematest.Prop(`{"type":"integer","maximum":10}`), `{"x":"40"}`, "", "", true},
		{"a parameter under another name",
			`{"properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`, `{"file_path":"a"}`,
			"", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := schematest.Compile(t, tt.schema)
			for _, mode := range []schema.Mode{schema.Lenient, schema.Strict, schema.Exact} {
				if tt.want == "" || mode == schema.Exact || mode == schema.Strict && !tt.strict {
					schematest.Refused(t, s, tt.args, mode)
					continue
				}
				out, err := s.Check(json.RawMessage(tt.args), mode)
				if err != nil {
					t.Fatalf("mode %d: %v", mode, err)
				}
				want := schema.Checked{Args: json.RawMessage(tt.want), Coercions: []string{tt.note}}
				if diff := cmp.Diff(want, out); diff != "" {
					t.Errorf("mode %d (-want +got):\n%s", mode, diff)
				}
			}
		})
	}
}

func TestNestedCoercions(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t, `{
		"type": "object",
		"properties": {
			"edits": {"type": "array", "items": {"type": "object", "properties": {
				"line": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "integer"}}}}},
			"limit": {"type": "integer"}
		}}`)
	args := `"{\"edits\":\"[{\\\"line\\\":\\\"4\\\",\\\"tags\\\":\\\"7\\\"}]\",\"limit\":\"2\"}"`
	out, err := s.Check(json.RawMessage(args), schema.Lenient)
	if err != nil {
		t.Fatal(err)
	}
	want := schema.Checked{
		Args: json.RawMessage(`{"edits":[{"line":4,"tags":[7]}],"limit":2}`),
		Coercions: []string{
			`the arguments: JSON text taken as an object`,
			`edits: JSON text taken as a list`,
			`limit: "2" (text) taken as the number 2`,
			`edits[0].line: "4" (text) taken as the number 4`,
			`edits[0].tags: "7" (text) taken as a list of one`,
			`edits[0].tags[0]: "7" (text) taken as the number 7`,
		},
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestManyCoercionsAreCounted(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t, `{"type":"array","items":{"type":"integer"}}`)
	out, err := s.Check(json.RawMessage(`["1"`+strings.Repeat(`,"1"`, 99)+`]`), schema.Lenient)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(out.Coercions); n != 21 || out.Coercions[20] != "and 80 more like these" {
		t.Errorf("%d sentences, the last %q", n, out.Coercions[n-1])
	}
}

// A value with too many problems is refused unchanged.
func TestTooManyProblemsAreNotCoerced(t *testing.T) {
	t.Parallel()
	list := func(n int) string { return `["1"` + strings.Repeat(`,"1"`, n-1) + `]` }
	quoted := func(text string) string {
		b, _ := json.Marshal(text)
		return string(b)
	}
	const items = `{"type":"array","items":{"type":"integer"}}`
	tests := []struct{ name, schema, args, path, more string }{
		{"a list", items, list(501), "[0]", "and 496 more"},
		{"a list in JSON text", schematest.Prop(items), `{"x":` + quoted(list(500)) + `}`, "x[0]", "and 495 more"},
		{"beside defaults", `{"properties":{"x":` + items + `,"d":{"default":1}}}`,
			`{"x":` + list(501) + `}`, "x[0]", "and 496 more"},
		{"nulls", `{"items":{"properties":{"n":{"type":"integer","default":1}}}}`,
			`[{"n":null}` + strings.Repeat(`,{"n":null}`, 500) + `]`, "[0].n", "and 496 more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := schematest.Refused(t, schematest.Compile(t, tt.schema), tt.args, schema.Lenient)
			if len(e.Fields) != 10 || e.Fields[0].Path != tt.path || !strings.HasSuffix(e.Message, tt.more) {
				t.Errorf("%d fields, the first at %s: %s", len(e.Fields), e.Fields[0].Path, e.Message)
			}
		})
	}
	out, err := schematest.Compile(t, items).Check(json.RawMessage(list(500)), schema.Lenient)
	if err != nil || len(out.Coercions) != 21 || string(out.Args) != strings.ReplaceAll(list(500), `"`, "") {
		t.Errorf("as many as may be: %d sentences, %v", len(out.Coercions), err)
	}
}

func TestValidArgumentsAreUnchanged(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t, `{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"},"any":{}}}`)
	for _, args := range []string{
		`{}`, ` { "s" : "a" } `, "{\n\t\"n\": 3\n}", `{"any":1e2}`, `{"s":"\u00e9 <&>"}`, `{"any":"40","zzz":[null,"true"]}`,
		`{"s":"a:b,{\"n\":1}"}`, `{"s":"\\"}`,
	} {
		for _, mode := range []schema.Mode{schema.Lenient, schema.Strict, schema.Exact} {
			in := json.RawMessage(args)
			out, err := s.Check(in, mode)
			if err != nil {
				t.Errorf("Check(%s): %v", args, err)
				continue
			}
			if &out.Args[0] != &in[0] || len(out.Args) != len(in) || out.Coercions != nil {
				t.Errorf("Check(%s) = %s, %q, want the very same bytes", args, out.Args, out.Coercions)
			}
		}
	}
}

func TestEmptyArguments(t *testing.T) {
	t.Parallel()
	object := `{"type":"object"}`
	tests := []struct{ name, schema, args, want string }{
		{"nothing", object, "", "{}"},
		{"blank", object, " \n", "{}"},
		{"null", object, "null", "{}"},
		{"null without a type", `{"properties":{"a":{}}}`, "null", "{}"},
		{"nothing for anything", `true`, "", "{}"},
		{"null behind a ref", `{"$ref":"#/$defs/o","$defs":{"o":{"type":"object"}}}`, "null", "{}"},
		{"null where null is meant", `{"type":["object","null"]}`, "null", "null"},
		{"null where an alternative is null", `{"anyOf":[{"type":"object"},{"type":"null"}]}`, "null", "null"},
		{"nothing where null is meant too", `{"type":["object","null"]}`, "", "{}"},
		{"nothing for a list", `{"type":"array"}`, "", ""},
		{"null for text", `{"type":"string"}`, "null", ""},
		{"nothing where something is required", schematest.Prop(`{"type":"string"}`), "", ""},
		{"nothing where all has a default",
			`{"type":"object","properties":{"x":{"default":1}},"required":["x"]}`, "", `{"x":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := schematest.Compile(t, tt.schema)
			for _, mode := range []schema.Mode{schema.Lenient, schema.Exact} {
				if tt.want == "" {
					schematest.Refused(t, s, tt.args, mode)
					continue
				}
				out, err := s.Check(json.RawMessage(tt.args), mode)
				if err != nil || string(out.Args) != tt.want || len(out.Coercions) > 0 {
					t.Errorf("Check(%q) = %s, %q, %v, want %s", tt.args, out.Args, out.Coercions, err, tt.want)
				}
			}
		})
	}
}

// Bytes that two readers might decode differently are encoded again and reported.
func TestAmbiguousBytesAreRewritten(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t, `{"type":"object"}`)
	for args, want := range map[string]string{
		`{"a":1,"a":2}`:                    `{"a":2}`,
		`{"a":{"b":1,"b":[2]},"c":"x:\""}`: `{"a":{"b":[2]},"c":"x:\""}`,
		"{\"a\":\"\xff\"}":                 "{\"a\":\"\ufffd\"}",
		`{"a":1,"\u0061":2}`:               `{"a":2}`,
	} {
		out, err := s.Check(json.RawMessage(args), schema.Exact)
		if err != nil || string(out.Args) != want || len(out.Coercions) != 1 {
			t.Errorf("Check(%s) = %s, %q, %v, want %s and a note", args, out.Args, out.Coercions, err, want)
		}
	}
}

func TestCheckResult(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t,
		`{"type":"object","properties":{"n":{"type":"integer"},"d":{"default":1}},"required":["n"]}`)
	if err := s.CheckResult(json.RawMessage(`{"n":3}`)); err != nil {
		t.Errorf("a good result: %v", err)
	}
	for value, want := range map[string]string{
		`{"n":"3"}`: `the result does not fit its schema: n: want an integer, got text "3"`,
		`{}`:        `the result does not fit its schema: n: want an integer (required), got nothing`,
		`{`:         `the result cannot be checked: it is cut off after byte 1: "{"`,
		``:          `the result cannot be checked: it is empty`,
	} {
		err := s.CheckResult(json.RawMessage(value))
		var e *tool.Error
		if !errors.As(err, &e) || e.Kind != tool.Invalid || e.Message != want || e.Schema != nil || e.Example != nil {
			t.Errorf("CheckResult(%s) = %v, want %s", value, err, want)
		}
	}
}

func TestErrorCarriesFieldsSchemaAndExample(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t,
		`{"type":"object","required":["path"],"properties":{"path":{"type":"string"},`+
			`"limit":{"type":"integer","default":1}}}`)
	e := schematest.Refused(t, s, `{"limit":"abc"}`, schema.Lenient)
	want := &tool.Error{
		Op:   "schema.Check",
		Kind: tool.Invalid,
		Message: `the arguments do not fit: path: want a string (required), got nothing; ` +
			`limit: want an integer, got text "abc"`,
		Hint: "nothing was changed and nothing was run; mend these and call again",
		Fields: []tool.FieldError{
			{Path: "path", Want: "a string (required)", Got: "nothing"},
			{Path: "limit", Want: "an integer", Got: `text "abc"`},
		},
		Schema:  s.Raw(),
		Example: []byte(`{"path":"notes.txt"}`),
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	strict := schematest.Refused(t, s, `{"path":5}`, schema.Strict)
	if !strings.Contains(strict.Hint, "exact types") {
		t.Errorf("strict hint %q", strict.Hint)
	}
}
