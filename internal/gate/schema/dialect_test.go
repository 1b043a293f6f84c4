package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"callgate/internal/gate/schema"
	"callgate/internal/gate/schema/schematest"
	"callgate/tool"
)

func TestDialects(t *testing.T) {
	t.Parallel()
	const draft7 = `"$schema":"http://json-schema.org/draft-07/schema#",`
	const draft2020 = `"$schema":"https://json-schema.org/draft/2020-12/schema",`
	tests := []struct {
		name, schema string
		valid        []string
		invalid      []string
	}{
		{"2020-12 is the default", `{"prefixItems":[{"type":"integer"}],"items":{"type":"string"}}`,
			[]string{`[1,"a"]`}, []string{`[[]]`, `[1,[]]`}},
		{"prefixItems", `{` + draft2020 + `"prefixItems":[{"type":"integer"}],"items":false}`,
			[]string{`[]`, `[1]`}, []string{`[1,2]`}},
		{"draft-07 knows no prefixItems", `{` + draft7 + `"prefixItems":[{"type":"integer"}]}`, []string{`[[]]`}, nil},
		{"items of draft-07",
			`{` + draft7 + `"items":[{"type":"integer"},{"type":"string"}],"additionalItems":{"type":"boolean"}}`,
			[]string{`[1,"a",true]`}, []string{`[[]]`, `[1,"a",[]]`}},
		{"definitions",
			`{` + draft7 + `"properties":{"a":{"$ref":"#/definitions/n"}},"definitions":{"n":{"type":"integer"}}}`,
			[]string{`{"a":1}`}, []string{`{"a":[]}`}},
		{"$defs", `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`,
			[]string{`{"a":1}`}, []string{`{"a":[]}`}},
		{"beside a ref in 2020-12", `{"properties":{"a":{"$ref":"#/$defs/n","maximum":3}},"$defs":{"n":{"type":"integer"}}}`,
			[]string{`{"a":3}`}, []string{`{"a":4}`}},
		{"beside a ref in draft-07",
			`{` + draft7 + `"properties":{"a":{"$ref":"#/definitions/n","maximum":3}},"definitions":{"n":{"type":"integer"}}}`,
			[]string{`{"a":4}`}, nil},
		{"dependentRequired", `{"dependentRequired":{"a":["b"]}}`, []string{`{"a":1,"b":1}`}, []string{`{"a":1}`}},
		{"dependencies of draft-07", `{` + draft7 + `"dependencies":{"a":["b"],"c":{"required":["d"]}}}`,
			[]string{`{"a":1,"b":1}`}, []string{`{"a":1}`, `{"c":1}`}},
		{"unevaluatedProperties", `{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`,
			[]string{`{"a":1}`}, []string{`{"b":1}`}},
		{"draft-07 knows no unevaluatedProperties",
			`{` + draft7 + `"unevaluatedProperties":false}`, []string{`{"b":1}`}, nil},
		{"anchors", `{"properties":{"a":{"$ref":"#n"}},"$defs":{"x":{"$anchor":"n","type":"integer"}}}`,
			[]string{`{"a":1}`}, []string{`{"a":[]}`}},
		{"an id with refs inside",
			`{"$id":"https://example.com/a/b","properties":{"a":{"$ref":"c"}},"$defs":{"x":{"$id":"c","type":"integer"}}}`,
			[]string{`{"a":1}`}, []string{`{"a":[]}`}},
		{"dynamic refs", `{"$dynamicAnchor":"node","type":"object","properties":{"n":{"$dynamicRef":"#node"}}}`,
			[]string{`{"n":{"n":{}}}`}, []string{`{"n":{"n":1}}`}},
		{"a schema for schemas", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`,
			nil, []string{`{"type":"nothing"}`, `{"properties":{"a":{"minLength":-1}}}`}},
		{"recursion",
			`{"type":"object","properties":{"children":{"type":"array",` +
				`"items":{"$ref":"#"}},"n":{"type":"integer"}},"required":["n"]}`,
			[]string{`{"n":1,"children":[{"n":2,"children":[]}]}`}, []string{`{"n":1,"children":[{"children":[]}]}`}},
		{"true", `true`, []string{`{"a":1}`}, nil},
		{"false", `false`, nil, []string{`{}`, `1`}},
		{"nothing asked", `{}`, []string{`{"a":1}`}, nil},
		{"3.0 is an integer", `{"type":"integer"}`, []string{`3.0`, `3`, `1e2`}, []string{`3.5`}},
		{"large numbers are exact", `{"maximum":9007199254740993}`,
			[]string{`9007199254740993`}, []string{`9007199254740993.1`, `9007199254740994`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := schematest.Compile(t, tt.schema)
			for _, v := range tt.valid {
				out, err := s.Check(json.RawMessage(v), schema.Exact)
				if err != nil || string(out.Args) != v {
					t.Errorf("Check(%s) = %s, %v", v, out.Args, err)
				}
				if err := s.CheckResult(json.RawMessage(v)); err != nil {
					t.Errorf("CheckResult(%s): %v", v, err)
				}
			}
			for _, v := range tt.invalid {
				schematest.Refused(t, s, v, schema.Exact)
				if s.CheckResult(json.RawMessage(v)) == nil {
					t.Errorf("CheckResult(%s): no error", v)
				}
			}
		})
	}
}

func TestFormatsAreAsserted(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"date-time": "2026-01-31T09:00:00+01:00", "date": "2026-01-31", "time": "09:00:00Z", "duration": "P1DT2H",
		"email": "a@b.example", "hostname": "a.example", "ipv4": "10.0.0.1", "ipv6": "::1", "uri": "https://a.example/b?c",
		"uri-reference": "../a", "uuid": "123e4567-e89b-42d3-a456-426614174000", "json-pointer": "/a/0", "regex": "^a+$",
	}
	for format, value := range good {
		for _, dialect := range []string{"", `"$schema":"http://json-schema.org/draft-07/schema#",`} {
			s := schematest.Compile(t, `{`+dialect+`"type":"string","format":"`+format+`"}`)
			text, _ := json.Marshal(value)
			if _, err := s.Check(text, schema.Exact); err != nil {
				t.Errorf("%s: %v", format, err)
			}
			schematest.Refused(t, s, `"(\\ %zz"`, schema.Exact)
		}
	}
	unknown := schematest.Compile(t, `{"type":"string","format":"phone"}`)
	if _, err := unknown.Check(json.RawMessage(`"anything"`), schema.Exact); err != nil {
		t.Errorf("an unknown format is only a remark: %v", err)
	}
}

func TestCompileErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, schema, want string }{
		{"nothing", ``, "the schema cannot be used: it is empty"},
		{"not JSON", `{"type":`, "cut off"},
		{"more after it", `{} {}`, "more after the end"},
		{"not a schema", `[1]`, "a schema is an object, or true or false; this is a list of 1 item"},
		{"unknown type", `{"properties":{"a":{"type":"float"}}}`,
			`properties.a.type: want a list, or one of "array", "boolean", "integer", "null", "number", "object", ` +
				`"string", got text "float"`},
		{"wrong keyword value", `{"properties":{"a":{"minLength":"3"}}}`,
			`properties.a.minLength: want an integer, got text "3"`},
		{"wrong behind a path that is no schema", `{"$ref":"#/x/y","x":{"y":{"minimum":"1"}}}`,
			`x.y.minimum: want a number, got text "1"`},
		{"pattern", `{"properties":{"a":{"pattern":"(?=x)"}}}`, "properties.a.pattern: want a regular expression"},
		{"ref to nowhere", `{"$ref":"#/$defs/x"}`, `the schema cannot be used: json-pointer in "#/$defs/x" not found`},
		{"ref to the net", `{"properties":{"a":{"$ref":"https://example.com/x.json"}}}`,
			`the schema refers to "https://example.com/x.json", which lies outside it and is never loaded`},
		{"ref to a file", `{"$ref":"file:///etc/passwd"}`, `refers to "file:///etc/passwd", which lies outside`},
		{"ref to a neighbour", `{"$ref":"other.json#/a"}`, `refers to "other.json", which lies outside`},
		{"ref out of an id", `{"$id":"https://example.com/a","$ref":"b"}`,
			`refers to "https://example.com/b", which lies outside`},
		{"unknown dialect", `{"$schema":"https://example.com/dialect"}`,
			`written in the dialect "https://example.com/dialect", which is not known`},
		{"too deep", strings.Repeat(`{"not":`, 300) + `{}` + strings.Repeat("}", 300), "nested more than 200 levels"},
		{"far too deep", strings.Repeat(`{"not":`, 100_000), "nested more than 1000 levels"},
		{"too many subschemas", `{"prefixItems":[true` + strings.Repeat(",true", 20_000) + `]}`,
			"more than 10000 subschemas"},
		{"refs in a long row", longRow(1100), "more than 1000 times in a row"},
		{"absurd number", `{"minimum":1e999999999}`, "the number at byte 11"},
		{"too long", `{"title":"` + strings.Repeat("a", 5<<20) + `"}`, "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := schema.Compile(json.RawMessage(tt.schema))
			var e *tool.Error
			if !errors.As(err, &e) || e.Kind != tool.Invalid || e.Op != "schema.Compile" {
				t.Fatalf("Compile: %v, want kind invalid", err)
			}
			if !strings.Contains(e.Message, tt.want) || len(e.Error()) > 2000 {
				t.Errorf("message %.400q, want it to hold %q", e.Message, tt.want)
			}
		})
	}
}

func longRow(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"items":{"$ref":"#/$defs/d0"}}}}`, n)
	return b.String()
}

// The library's meta-schemas check names of properties too, and lose the location
// of a wrong one.
func TestBadPatternsAreLocated(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, schema string
		want         []string
	}{
		{"at the root",
			`{"propertyNames":{"pattern":"^a"},"patternProperties":{"++":{"minimum":3}},"dependencies":{"a":["b"],"c":["d"]}}`,
			[]string{"patternProperties"}},
		{"inside",
			`{"properties":{"a":{"title":"x","patternProperties":{"a":{},` +
				`"++":{}}},"b":{"type":"object"},"c":{"items":{"title":"y"}}}}`,
			[]string{"properties.a.patternProperties"}},
		{"in a list", `{"allOf":[{"title":"x"},{"patternProperties":{"++":{}}},{"properties":{"a":{}}}]}`,
			[]string{"allOf[1].patternProperties"}},
		{"twice", `{"properties":{"b":{"patternProperties":{"++":{}}},"a":{"patternProperties":{"++":{}},"title":"x"}}}`,
			[]string{"properties.a.patternProperties", "properties.b.patternProperties"}},
		{"in draft-07",
			`{"$schema":"http://json-schema.org/draft-07/schema#",` +
				`"properties":{"a":{"patternProperties":{"++":{}},"title":"x"},"b":{"title":"y"}}}`,
			[]string{"properties.a.patternProperties"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 100 { // the library goes through its maps in another order each time
				_, err := schema.Compile(json.RawMessage(tt.schema))
				var e *tool.Error
				if !errors.As(err, &e) {
					t.Fatalf("Compile: %v", err)
				}
				var paths []string
				for _, f := range e.Fields {
					if strings.HasPrefix(f.Want, "a field name that is a regular expression") {
						paths = append(paths, strings.TrimSuffix(f.Path, `["++"]`))
					}
				}
				if !slices.Equal(paths, tt.want) {
					t.Fatalf("%q, want %q: %v", paths, tt.want, err)
				}
			}
		})
	}
}
