package example_test

import (
	"testing"

	"callgate/internal/gate/schema/schematest"
)

func TestExample(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, schema, want string }{
		{"nothing required", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{}`},
		{"text named after its field", schematest.Prop(`{"type":"string"}`), `{"x":"some x"}`},
		{"required only", `{"required":["b"],"properties":{"a":{},"b":{"type":"boolean"}}}`, `{"b":true}`},
		{"fixed value", schematest.Prop(`{"const":"v"}`), `{"x":"v"}`},
		{"first allowed value", schematest.Prop(`{"enum":["a","b"]}`), `{"x":"a"}`},
		{"default", schematest.Prop(`{"type":"integer","default":7}`), `{"x":7}`},
		{"a default that is not valid", schematest.Prop(`{"type":"integer","default":"7"}`), `{"x":1}`},
		{"first of its examples", schematest.Prop(`{"type":"string","examples":["README.md","b"]}`), `{"x":"README.md"}`},
		{"integer", schematest.Prop(`{"type":"integer"}`), `{"x":1}`},
		{"number", schematest.Prop(`{"type":"number"}`), `{"x":1}`},
		{"at least", schematest.Prop(`{"type":"integer","minimum":10}`), `{"x":10}`},
		{"at least, not whole", schematest.Prop(`{"type":"integer","minimum":10.5}`), `{"x":11}`},
		{"at most", schematest.Prop(`{"type":"integer","maximum":-3}`), `{"x":-3}`},
		{"between", schematest.Prop(`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`), `{"x":0.5}`},
		{"multiple", schematest.Prop(`{"type":"integer","multipleOf":7,"minimum":1}`), `{"x":7}`},
		{"long text", schematest.Prop(`{"type":"string","minLength":6}`), `{"x":"some x"}`},
		{"short text", schematest.Prop(`{"type":"string","maxLength":2}`), `{"x":"x"}`},
		{"date and time", schematest.Prop(`{"type":"string","format":"date-time"}`), `{"x":"2026-01-31T09:00:00Z"}`},
		{"email", schematest.Prop(`{"type":"string","format":"email"}`), `{"x":"name@example.com"}`},
		{"address", schematest.Prop(`{"type":"string","format":"uri"}`), `{"x":"https://example.com"}`},
		{"unknown format", schematest.Prop(`{"type":"string","format":"phone"}`), `{"x":"some x"}`},
		{"pattern", schematest.Prop(`{"type":"string","pattern":"^[a-z]{2}-[0-9]+$"}`), `{"x":"aa-1"}`},
		{"pattern of some length",
			schematest.Prop(`{"type":"string","pattern":"^\\d+$","minLength":8,"maxLength":8}`), `{"x":"11111111"}`},
		{"one item", `{"required":["tags"],"properties":{"tags":{"type":"array","items":{"type":"string"}}}}`,
			`{"tags":["some tag"]}`},
		{"some items", schematest.Prop(`{"type":"array","items":{"type":"integer"},"minItems":2}`), `{"x":[1,1]}`},
		{"items of which nothing is known", schematest.Prop(`{"type":"array"}`), `{"x":[]}`},
		{"some items of which nothing is known", schematest.Prop(`{"type":"array","minItems":1}`), `{"x":["some x"]}`},
		{"no items allowed", schematest.Prop(`{"type":"array","items":{"type":"string"},"maxItems":0}`), `{"x":[]}`},
		{"items by index",
			schematest.Prop(`{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"minItems":2}`),
			`{"x":["some x",1]}`},
		{"an item of a kind", schematest.Prop(`{"type":"array","contains":{"const":5}}`), `{"x":[5]}`},
		{"nested", schematest.Prop(`{"type":"object","required":["y"],"properties":{"y":{"type":"string"},"z":{}}}`),
			`{"x":{"y":"some y"}}`},
		{"behind a ref",
			`{"$ref":"#/$defs/o","$defs":{"o":{"type":"object","required":["a"],` +
				`"properties":{"a":{"$ref":"#/$defs/n"}}},"n":{"type":"integer"}}}`,
			`{"a":1}`},
		{"in allOf",
			`{"allOf":[{"required":["a"],"properties":{"a":{"type":"integer"}}},` +
				`{"required":["b"],"properties":{"b":{"type":"string"}}}]}`,
			`{"a":1,"b":"some b"}`},
		{"the alternative that is not null", schematest.Prop(`{"anyOf":[{"type":"null"},{"type":"integer"}]}`), `{"x":1}`},
		{"the first alternative",
			schematest.Prop(`{"oneOf":[{"type":"object","required":["k"],"properties":{"k":{"const":"a"}}},{"type":"string"}]}`),
			`{"x":{"k":"a"}}`},
		{"required by an alternative",
			`{"type":"object","properties":{"a":{"type":"integer"},` +
				`"b":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"a":1}`},
		{"required under a condition",
			`{"required":["k"],"properties":{"k":{"const":1},"n":{"type":"integer"}},` +
				`"if":{"properties":{"k":{"const":1}}},"then":{"required":["n"]}}`,
			`{"k":1,"n":1}`},
		{"required with another",
			`{"required":["a"],"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"dependentRequired":{"a":["b"]}}`,
			`{"a":1,"b":1}`},
		{"required and never described", `{"type":"object","required":["a"]}`, `{"a":"some a"}`},
		{"recursive where it need not be",
			`{"type":"object","required":["kids"],"properties":{"kids":{"type":"array","items":{"$ref":"#"},"maxItems":1}}}`,
			`{"kids":[]}`},
		{"null", schematest.Prop(`{"type":"null"}`), `{"x":null}`},
		{"anything", `true`, `"some value"`},

		{"recursive without end", `{"type":"object","required":["x"],"properties":{"x":{"$ref":"#"}}}`, ``},
		{"impossible", schematest.Prop(`{"type":"string","enum":[1]}`), ``},
		{"nothing", `false`, ``},
		{"a schema without end", `{"$ref":"#"}`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := schematest.Compile(t, tt.schema)
			got := s.Example()
			if string(got) != tt.want {
				t.Errorf("Example() = %s, want %s", got, tt.want)
			}
			if got == nil {
				return
			}
			if err := s.CheckResult(got); err != nil {
				t.Errorf("the example is not valid: %v", err)
			}
		})
	}
}
