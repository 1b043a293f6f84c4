package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/schema"
	"callgate/internal/gate/schema/schematest"
)

// optional returns a schema with one optional property x.
func optional(x string) string { return `{"type":"object","properties":{"x":` + x + `}}` }

// A model that does not want an optional parameter often sends null.
func TestNullMeansAbsent(t *testing.T) {
	t.Parallel()
	const taken = "x: null taken as absent"
	tests := []struct {
		name, schema, args, want string
		notes                    []string
	}{
		{"of a type", optional(`{"type":"integer"}`), `{"x":null}`, `{}`, []string{taken}},
		{"of several types", optional(`{"type":["integer","string"]}`), `{"x":null}`, `{}`, []string{taken}},
		{"of allowed values", optional(`{"enum":["a",1]}`), `{"x":null}`, `{}`, []string{taken}},
		{"of a fixed value", optional(`{"const":"a"}`), `{"x":null}`, `{}`, []string{taken}},
		{"of alternatives", optional(`{"anyOf":[{"type":"integer"},{"enum":["auto"]}]}`),
			`{"x":null}`, `{}`, []string{taken}},
		{"of anything but null", optional(`{"not":{"type":"null"}}`), `{"x":null}`, `{}`, []string{taken}},
		{"of nothing at all", optional(`false`), `{"x":null}`, `{}`, []string{taken}},
		{"behind a ref", `{"properties":{"x":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`,
			`{"x":null}`, `{}`, []string{taken}},
		{"in allOf", `{"allOf":[{"properties":{"x":{"type":"integer"}}}]}`, `{"x":null}`, `{}`, []string{taken}},
		{"beside what is required", `{"properties":{"x":{"type":"integer"},"path":{"type":"string"}},"required":["path"]}`,
			`{"path":"a","x":null}`, `{"path":"a"}`, []string{taken}},
		{"with a default", optional(`{"type":"integer","default":40}`), `{"x":null}`, `{"x":40}`, []string{taken}},
		{"in an object", optional(`{"type":"object","properties":{"y":{"type":"integer"}}}`),
			`{"x":{"y":null}}`, `{"x":{}}`, []string{"x.y: null taken as absent"}},
		{"in an object in a list", optional(`{"items":{"properties":{"y":{"type":"integer","default":1}}}}`),
			`{"x":[{"y":2},{"y":null}]}`, `{"x":[{"y":2},{"y":1}]}`, []string{"x[1].y: null taken as absent"}},
		{"in JSON text", optional(`{"type":"object","properties":{"y":{"type":"integer"}}}`), `{"x":"{\"y\":null}"}`,
			`{"x":{}}`, []string{"x: JSON text taken as an object", "x.y: null taken as absent"}},
		{"in the nearest alternative",
			`{"oneOf":[{"properties":{"k":{"const":"a"},"x":{"type":"string"}},"required":["k"]},` +
				`{"properties":{"k":{"const":"b"},"x":{"type":"integer"}},"required":["k"]}]}`,
			`{"k":"b","x":null}`, `{"k":"b"}`, []string{taken}},
		{"required by the alternative that was not meant",
			`{"properties":{"x":{"type":"integer"},"y":{"type":"integer"}},"anyOf":[{"required":["x"]},{"required":["y"]}]}`,
			`{"x":null,"y":1}`, `{"y":1}`, []string{taken}},
		{"required under a condition that does not hold",
			`{"properties":{"x":{"type":"integer"}},"if":{"required":["k"]},"then":{"required":["x"]}}`, `{"x":null}`, `{}`,
			[]string{taken}},
		{"several, and another reading",
			`{"properties":{"x":{"type":"integer"},"y":{"type":"integer"},"z":{"type":"string"}}}`,
			`{"z":null,"x":null,"y":"5"}`, `{"y":5}`,
			[]string{taken, `y: "5" (text) taken as the number 5`, "z: null taken as absent"}},
		{"what would have required another", `{"properties":{"x":{"type":"integer"}},"dependentRequired":{"x":["y"]}}`,
			`{"x":null}`, `{}`, []string{taken}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := schematest.Compile(t, tt.schema)
			out, err := s.Check(json.RawMessage(tt.args), schema.Lenient)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(schema.Checked{Args: json.RawMessage(tt.want), Coercions: tt.notes}, out); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again, err := s.Check(out.Args, schema.Lenient)
			if err != nil || string(again.Args) != tt.want || len(again.Coercions) > 0 {
				t.Errorf("checked again: %s, %q, %v", again.Args, again.Coercions, err)
			}
			schematest.Refused(t, s, tt.args, schema.Strict)
			schematest.Refused(t, s, tt.args, schema.Exact)
		})
	}
}

func TestNullForARequiredValueIsRefused(t *testing.T) {
	t.Parallel()
	integer := `{"type":"integer"}`
	tests := []struct{ name, schema, args, path string }{
		{"required", schematest.Prop(integer), `{"x":null}`, "x"},
		{"required, with a default", schematest.Prop(`{"type":"integer","default":1}`), `{"x":null}`, "x"},
		{"required behind a ref",
			`{"$ref":"#/$defs/o","$defs":{"o":{"properties":{"x":{"type":"integer","default":1}},"required":["x"]}}}`,
			`{"x":null}`, "x"},
		{"required by another part of allOf",
			`{"properties":{"x":{"type":"integer","default":1}},"allOf":[{"required":["x"]}]}`, `{"x":null}`, "x"},
		{"required in an object", optional(schematest.Prop(integer)), `{"x":{"x":null}}`, "x.x"},
		{"required in a list", `{"properties":{"x":{"items":` + schematest.Prop(integer) + `}}}`,
			`{"x":[{"x":1},{"x":null}]}`, "x[1].x"},
		{"required under a condition",
			`{"properties":{"x":{"type":"integer","default":1}},"if":{"required":["k"]},"then":{"required":["x"]}}`,
			`{"k":1,"x":null}`, "x"},
		{"required with another", `{"properties":{"x":` + integer + `},"dependentRequired":{"k":["x"]}}`,
			`{"k":1,"x":null}`, "x"},
		{"required by every alternative",
			`{"properties":{"x":` + integer + `},"anyOf":[{"required":["x"]},{"required":["x","y"]}]}`, `{"x":null}`, "x"},
		{"too few fields without it", `{"properties":{"x":` + integer + `},"minProperties":1}`, `{"x":null}`, "x"},
		{"an item", `{"properties":{"x":{"type":"array","items":` + integer + `}}}`, `{"x":[1,null]}`, "x[1]"},
		{"an item by its index", `{"properties":{"x":{"prefixItems":[` + integer + `]}}}`, `{"x":[null]}`, "x[0]"},
		{"the whole", `{"type":"array"}`, `null`, ""},
		{"an entry of a map", optional(`{"additionalProperties":` + integer + `}`), `{"x":{"k":null}}`, "x.k"},
		{"an entry of a map by pattern", optional(`{"patternProperties":{"":` + integer + `}}`), `{"x":{"k":null}}`, "x.k"},
		{"a field that does not exist", `{"properties":{"x":{}},"additionalProperties":false}`, `{"zzz":null}`, "zzz"},
		{"a field that does not exist, unevaluated",
			`{"properties":{"x":{}},"unevaluatedProperties":false}`, `{"zzz":null}`, "zzz"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := schematest.Compile(t, tt.schema)
			for _, mode := range []schema.Mode{schema.Lenient, schema.Strict, schema.Exact} {
				e := schematest.Refused(t, s, tt.args, mode)
				if len(e.Fields) != 1 || e.Fields[0].Path != tt.path || e.Fields[0].Got != "null" {
					t.Errorf("mode %d: fields %q, want one at %s that got null", mode, e.Fields, tt.path)
				}
			}
		})
	}
}

func TestAcceptedNullIsKept(t *testing.T) {
	t.Parallel()
	for _, x := range []string{
		`{}`, `{"type":["integer","null"],"default":5}`, `{"anyOf":[{"type":"integer"},{"type":"null"}]}`,
		`{"enum":[1,null]}`, `{"default":1}`,
	} {
		s := schematest.Compile(t, optional(x))
		out, err := s.Check(json.RawMessage(`{ "x": null }`), schema.Lenient)
		if err != nil || string(out.Args) != `{ "x": null }` || len(out.Coercions) > 0 {
			t.Errorf("under %s: %s, %q, %v", x, out.Args, out.Coercions, err)
		}
	}
}

// A restored null is not reported as a coercion; other problems still are.
func TestNullBesideOtherProblems(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t,
		`{"type":"object","required":["path"],"properties":{"path":{"type":"string"},`+
			`"limit":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}}}`)
	e := schematest.Refused(t, s, `{"path":null,"limit":null,"tags":[null]}`, schema.Lenient)
	want := `the arguments do not fit: path: want a string, got null; tags[0]: want a string, got null`
	if e.Message != want {
		t.Errorf("message %q, want %q", e.Message, want)
	}
	out, err := s.Check(json.RawMessage(`"{\"path\":\"a\",\"limit\":null}"`), schema.Lenient)
	notes := strings.Join(out.Coercions, "; ")
	if err != nil || string(out.Args) != `{"path":"a"}` || !strings.HasSuffix(notes, "limit: null taken as absent") {
		t.Errorf("Check: %s, %q, %v", out.Args, out.Coercions, err)
	}
}
