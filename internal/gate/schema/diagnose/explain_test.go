package diagnose_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/schema"
	"callgate/internal/gate/schema/schematest"
)

func TestErrorFields(t *testing.T) {
	t.Parallel()
	type fields = [][3]string // path, want, got
	open := `{"type":"object","properties":{"path":{"type":"string"},` +
		`"limit":{"type":"integer"}},"additionalProperties":false}`
	tests := []struct {
		name, schema, args string
		want               fields
	}{
		{"wrong type", schematest.Prop(`{"type":"integer"}`), `{"x":"abc"}`, fields{{"x", "an integer", `text "abc"`}}},
		{"several types", schematest.Prop(`{"type":["integer","boolean","null"]}`),
			`{"x":"abc"}`, fields{{"x", "null, true or false or an integer", `text "abc"`}}},
		{"list of what", schematest.Prop(`{"type":"array","items":{"type":"integer"}}`),
			`{"x":"abc"}`, fields{{"x", "a list of integers", `text "abc"`}}},
		{"number came", schematest.Prop(`{"type":"object"}`), `{"x":12}`, fields{{"x", "an object", "the number 12"}}},
		{"list came", schematest.Prop(`{"type":"string"}`), `{"x":[1,2]}`, fields{{"x", "a string", "a list of 2 items"}}},
		{"object came", schematest.Prop(`{"type":"string"}`),
			`{"x":{"b":1,"a":2}}`, fields{{"x", "a string", "an object with a, b"}}},
		{"null came", schematest.Prop(`{"type":"string"}`), `{"x":null}`, fields{{"x", "a string", "null"}}},
		{"the whole", schematest.Prop(`{}`), `[1]`, fields{{"", "an object", "a list of 1 item"}}},

		{"missing", schematest.Prop(`{"type":"string"}`), `{}`, fields{{"x", "a string (required)", "nothing"}}},
		{"missing, of any type", schematest.Prop(`{}`), `{}`, fields{{"x", "a value (required)", "nothing"}}},
		{"missing, of allowed values", schematest.Prop(`{"enum":["a","b"]}`),
			`{}`, fields{{"x", `one of "a", "b" (required)`, "nothing"}}},
		{"missing, of a format", schematest.Prop(`{"type":"string","format":"email"}`),
			`{}`, fields{{"x", "an email such as name@example.com (required)", "nothing"}}},
		{"missing, behind a ref",
			`{"required":["x"],"properties":{"x":{"$ref":"#/$defs/l"}},` +
				`"$defs":{"l":{"type":"array","items":{"type":"string"}}}}`,
			`{}`, fields{{"x", "a list of strings (required)", "nothing"}}},
		{"missing, one of two kinds", schematest.Prop(`{"anyOf":[{"type":"string"},{"type":"null"}]}`),
			`{}`, fields{{"x", "a string or null (required)", "nothing"}}},
		{"missing in a list",
			schematest.Prop(`{"type":"array","items":{"type":"object",` +
				`"required":["line"],"properties":{"line":{"type":"integer"}}}}`),
			`{"x":[{"line":1},{}]}`, fields{{"x[1].line", "an integer (required)", "nothing"}}},
		{"missing with another", `{"properties":{"a":{},"b":{"type":"string"}},"dependentRequired":{"a":["b"]}}`,
			`{"a":1}`, fields{{"b", `a string (required with "a")`, "nothing"}}},
		{"missing with another, old style",
			`{"$schema":"http://json-schema.org/draft-07/schema#",` +
				`"properties":{"b":{"type":"string"}},"dependencies":{"a":["b"]}}`,
			`{"a":1}`, fields{{"b", `a string (required with "a")`, "nothing"}}},
		{"missing under a condition",
			`{"properties":{"k":{},"n":{"type":"integer"}},"if":{"properties":{"k":{"const":1}}},"then":{"required":["n"]}}`,
			`{"k":1}`, fields{{"n", "an integer (required)", "nothing"}}},

		{"unknown field", open, `{"zzzzz":1}`, fields{{"zzzzz", "no such field; there are limit, path", "the number 1"}}},
		{"misspelt field", open, `{"pth":"a"}`,
			fields{{"pth", `no such field; there are limit, path; did you mean "path"?`, `text "a"`}}},
		{"field in another style", `{"properties":{"file_path":{}},"additionalProperties":false}`, `{"filePath":"a"}`,
			fields{{"filePath", `no such field; there is only file_path; did you mean "file_path"?`, `text "a"`}}},
		{"field with more words", open, `{"file_path":"a"}`,
			fields{{"file_path", `no such field; there are limit, path; did you mean "path"?`, `text "a"`}}},
		{"field with two letters swapped", open, `{"lmiit":1}`,
			fields{{"lmiit", `no such field; there are limit, path; did you mean "limit"?`, "the number 1"}}},
		{"field in capitals", open, `{"LIMIT":1}`,
			fields{{"LIMIT", `no such field; there are limit, path; did you mean "limit"?`, "the number 1"}}},
		{"field of separators only", open, `{"__":1}`,
			fields{{"__", "no such field; there are limit, path", "the number 1"}}},
		{"several unknown fields", open, `{"b":1,"a":2}`,
			fields{{"a", "no such field; there are limit, path", "the number 2"},
				{"b", "no such field; there are limit, path", "the number 1"}}},
		{"no fields at all", `{"additionalProperties":false}`, `{"a":1}`, fields{{"a", "no such field", "the number 1"}}},
		{"unevaluated field",
			`{"allOf":[{"properties":{"path":{}}}],"properties":{"limit":{}},"unevaluatedProperties":false}`, `{"pahts":1}`,
			fields{{"pahts", `no such field; there are limit, path; did you mean "path"?`, "the number 1"}}},
		{"a name that needs quotes", `{"properties":{"a b":{"type":"integer"}}}`,
			`{"a b":"x"}`, fields{{`["a b"]`, "an integer", `text "x"`}}},
		{"bad field name", `{"properties":{"env":{"propertyNames":{"pattern":"^[A-Z]+$"}}}}`, `{"env":{"A":1,"b":2}}`,
			fields{{"env.b", "a field name that is text that matches the pattern ^[A-Z]+$", `"b"`}}},
		{"bad field names side by side", `{"additionalProperties":{"propertyNames":{"maxLength":1}}}`,
			`{"a":{"xx":1},"b":{"yy":1}}`,
			fields{{"a.xx", "a field name that is at most 1 character", `"xx"`},
				{"b.yy", "a field name that is at most 1 character", `"yy"`}}},
		{"forbidden field", `{"properties":{"x":false}}`, `{"x":1}`, fields{{"x", "nothing here", "the number 1"}}},

		{"allowed values", schematest.Prop(`{"enum":["a","b",3,null]}`),
			`{"x":"c"}`, fields{{"x", `one of "a", "b", 3, null`, `text "c"`}}},
		{"fixed value", schematest.Prop(`{"const":"a"}`), `{"x":"c"}`, fields{{"x", `"a"`, `text "c"`}}},
		{"minimum", schematest.Prop(`{"minimum":1}`), `{"x":0}`, fields{{"x", "at least 1", "the number 0"}}},
		{"maximum", schematest.Prop(`{"maximum":1.5}`), `{"x":2}`, fields{{"x", "at most 1.5", "the number 2"}}},
		{"maximum of a coerced number", schematest.Prop(`{"type":"integer","maximum":10}`),
			`{"x":"40"}`, fields{{"x", "at most 10", "the number 40"}}},
		{"exclusive minimum", schematest.Prop(`{"exclusiveMinimum":0}`),
			`{"x":0}`, fields{{"x", "more than 0", "the number 0"}}},
		{"exclusive maximum", schematest.Prop(`{"exclusiveMaximum":9}`),
			`{"x":9}`, fields{{"x", "less than 9", "the number 9"}}},
		{"multiple", schematest.Prop(`{"multipleOf":0.5}`), `{"x":0.3}`,
			fields{{"x", "a multiple of 0.5", "the number 0.3"}}},
		{"too short", schematest.Prop(`{"type":"string","minLength":3}`), `{"x":"é"}`,
			fields{{"x", "at least 3 characters", `text "é", 1 character`}}},
		{"too long", schematest.Prop(`{"type":"string","maxLength":1}`), `{"x":"ab"}`,
			fields{{"x", "at most 1 character", `text "ab", 2 characters`}}},
		{"pattern", schematest.Prop(`{"type":"string","pattern":"^a+$"}`),
			`{"x":"b"}`, fields{{"x", "text that matches the pattern ^a+$", `text "b"`}}},
		{"format", schematest.Prop(`{"type":"string","format":"date"}`),
			`{"x":"soon"}`, fields{{"x", "a date such as 2026-01-31", `text "soon"`}}},
		{"regular expression", schematest.Prop(`{"type":"string","format":"regex"}`), `{"x":"("}`,
			fields{{"x", "a regular expression (error parsing regexp: missing closing ): `(`)", `text "("`}}},
		{"too few items", schematest.Prop(`{"type":"array","minItems":2}`),
			`{"x":[1]}`, fields{{"x", "at least 2 items", "1 item"}}},
		{"too many items", schematest.Prop(`{"type":"array","maxItems":1}`),
			`{"x":[1,2]}`, fields{{"x", "at most 1 item", "2 items"}}},
		{"too many items, old style",
			`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"x":{"items":[{}],"additionalItems":false}}}`,
			`{"x":[1,2,3]}`, fields{{"x", "2 items fewer", "a list of 3 items"}}},
		{"equal items", schematest.Prop(`{"uniqueItems":true}`), `{"x":[1,2,1.0]}`,
			fields{{"x", "no two items alike", "items 0 and 2 are equal"}}},
		{"no item of a kind", schematest.Prop(`{"contains":{"type":"string"}}`), `{"x":[1]}`,
			fields{{"x", "at least one item of the kind the schema asks for", "a list of 1 item"}}},
		{"too few of a kind", schematest.Prop(`{"contains":{"type":"string"},"minContains":2}`),
			`{"x":["a"]}`, fields{{"x", "at least 2 items of the kind the schema asks for", "1 of them"}}},
		{"too many of a kind", schematest.Prop(`{"contains":{"type":"string"},"maxContains":1}`),
			`{"x":["a","b"]}`, fields{{"x", "at most 1 item of the kind the schema asks for", "2 of them"}}},
		{"too few fields", `{"minProperties":1}`, `{}`, fields{{"", "at least 1 field", "0 fields"}}},
		{"too many fields", `{"maxProperties":1}`, `{"a":1,"b":2}`, fields{{"", "at most 1 field", "2 fields"}}},
		{"ruled out", schematest.Prop(`{"not":{"type":"string"}}`),
			`{"x":"a"}`, fields{{"x", "anything but a string", `text "a"`}}},
		{"schema without end", `{"$ref":"#"}`, `{}`,
			fields{{"", "a schema that does not refer to itself without end", "an empty object"}}},

		{"neither alternative's type", schematest.Prop(`{"anyOf":[{"type":"integer"},{"type":"null"}]}`),
			`{"x":"abc"}`, fields{{"x", "an integer or null", `text "abc"`}}},
		{"a type or some values", schematest.Prop(`{"anyOf":[{"type":"integer"},{"enum":["auto","none"]}]}`),
			`{"x":"abc"}`, fields{{"x", `an integer, or one of "auto", "none"`, `text "abc"`}}},
		{"constants of a oneOf", schematest.Prop(`{"oneOf":[{"const":"a"},{"const":"b"}]}`),
			`{"x":"c"}`, fields{{"x", `one of "a", "b"`, `text "c"`}}},
		{"the nearest alternative",
			schematest.Prop(`{"oneOf":[{"type":"string"},{"type":"object","required":["a"],` +
				`"properties":{"a":{"type":"string"}}},{"type":"object","required":["b","c","d"]}]}`),
			`{"x":{}}`, fields{{"x.a", "a string (required)", "nothing"}}},
		{"the alternative that was meant",
			schematest.Prop(`{"oneOf":[{"properties":{"k":{"const":"a"}},"required":["k"]},` +
				`{"properties":{"k":{"const":"b"}},"required":["k","m","n"]}]}`),
			`{"x":{"k":"b"}}`, fields{{"x.m", "a value (required)", "nothing"}, {"x.n", "a value (required)", "nothing"}}},
		{"two alternatives at once", schematest.Prop(`{"oneOf":[{"type":"integer"},{"minimum":1}]}`), `{"x":2}`,
			fields{{"x", "to fit exactly one of the alternatives", "the number 2, which fits alternatives 1 and 2"}}},

		{"items in order", schematest.Prop(`{"items":{"type":"integer"}}`), `{"x":["a",1,"b",1,1,1,1,1,1,1,"c"]}`,
			fields{{"x[0]", "an integer", `text "a"`}, {"x[2]", "an integer", `text "b"`}, {"x[10]", "an integer", `text "c"`}}},
		{"only what remains wrong",
			`{"required":["path"],"properties":{"path":{"type":"string"},"limit":{"type":"integer"}}}`, `{"limit":"40"}`,
			fields{{"path", "a string (required)", "nothing"}}},
		{"a list of one that did not help", schematest.Prop(`{"type":"array","items":{"type":"integer"}}`),
			`{"x":"a"}`, fields{{"x", "a list of integers", `text "a"`}}},
		{"inside JSON text", schematest.Prop(`{"type":"object","required":["y"]}`),
			`{"x":"{}"}`, fields{{"x.y", "a value (required)", "nothing"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := schematest.Refused(t, schematest.Compile(t, tt.schema), tt.args, schema.Lenient)
			var got fields
			for _, f := range e.Fields {
				got = append(got, [3]string{f.Path, f.Want, f.Got})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if string(e.Schema) != tt.schema {
				t.Errorf("the error carries the schema %s", e.Schema)
			}
		})
	}
}

func TestErrorIsShortAndDeterministic(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 500 {
		fmt.Fprintf(&many, `,"f%d":"\u2028\n%s"`, i, strings.Repeat("é", 300))
	}
	tests := []struct{ name, schema, args string }{
		{"many wrong values", `{"additionalProperties":{"type":"integer"}}`, `{"a":"b"` + many.String() + `}`},
		{"many unknown fields", `{"properties":{"a":{}},"additionalProperties":false}`, `{"a":"b"` + many.String() + `}`},
		{"many bad names", `{"propertyNames":{"maxLength":1}}`, `{"a":"b"` + many.String() + `}`},
		{"a long name", `{"additionalProperties":false,"properties":{"a":{}}}`, `{"` + strings.Repeat("é", 4000) + `":1}`},
		{"many allowed values",
			schematest.Prop(`{"enum":["` + strings.Repeat("é", 5000) + `","` + strings.Repeat("b", 5000) + `"]}`), `{"x":"c"}`},
		{"a long pattern", schematest.Prop(`{"pattern":"^` + strings.Repeat("é", 5000) + `$"}`), `{"x":"c"}`},
		{"a deep path",
			`{"$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"}},"additionalProperties":false}},"$ref":"#/$defs/n"}`,
			strings.Repeat(`{"n":`, 900) + `{"z":1}` + strings.Repeat("}", 900)},
		{"wrong at every depth",
			`{"$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"}},"required":["m"]}},"$ref":"#/$defs/n"}`,
			strings.Repeat(`{"n":`, 900) + `{}` + strings.Repeat("}", 900)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := schematest.Compile(t, tt.schema)
			e := schematest.Refused(t, s, tt.args, schema.Lenient)
			if len(e.Fields) > 20 || len(e.Fields) == 0 {
				t.Errorf("%d fields", len(e.Fields))
			}
			for _, f := range e.Fields {
				if len(f.Path) > 200 || len(f.Want) > 320 || len(f.Got) > 140 {
					t.Errorf("field too long: %d, %d, %d bytes", len(f.Path), len(f.Want), len(f.Got))
				}
			}
			if text := e.Error(); len(text) > 3000 || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\u2028") {
				t.Errorf("%d bytes: %.300q", len(text), text)
			}
			for range 2 {
				if diff := cmp.Diff(e, schematest.Refused(t, s, tt.args, schema.Lenient)); diff != "" {
					t.Fatalf("another time (-first +now):\n%s", diff)
				}
			}
		})
	}
}
