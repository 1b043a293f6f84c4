package schema_test

import (
	"testing"

	"callgate/internal/gate/schema/schematest"
)

func TestSignatureListsParametersInOrder(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, schema, want string }{
		{"none", `{"type":"object"}`, "(none)"},
		{"none at all", `true`, "(none)"},
		{"required first, each in the order written",
			`{"properties":{"z":{"type":"integer"},"path":{"type":"string"},` +
				`"lines":{"type":"array"},"b":{"type":"number"}},"required":["b","path"]}`,
			"path: str, b: float, z?: int, lines?: list"},
		{"every type",
			`{"properties":{"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number"},` +
				`"b":{"type":"boolean"},"l":{"type":"array"},"o":{"type":"object"},"z":{"type":"null"},"x":{}}}`,
			"s?: str, i?: int, n?: float, b?: bool, l?: list, o?: dict, z?: any, x?: any"},
		{"several types",
			`{"properties":{"a":{"type":["string","null"]},` +
				`"b":{"anyOf":[{"type":"integer"},{"type":"string"},{"type":"null"}]}}}`,
			"a?: str, b?: int|str"},
		{"by its values", `{"properties":{"a":{"enum":["x",1]},"b":{"const":true}}}`, "a?: str|float, b?: bool"},
		{"behind a ref",
			`{"$ref":"#/$defs/o~1p","$defs":{"o/p":{"properties":{"z":{"$ref":"#/$defs/n"},` +
				`"a":{}},"required":["a"]},"n":{"type":"integer"}}}`,
			"a: any, z?: int"},
		{"in allOf", `{"allOf":[{"properties":{"z":{},"a":{}}},{"properties":{"b":{}},"required":["b"]}]}`,
			"b: any, z?: any, a?: any"},
		{"in alternatives",
			`{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}}}]}`,
			"a?: str, b?: str"},
		{"a name written twice", `{"properties":{"b":{"type":"string"},"a":{},"b":{"type":"integer"}}}`, "b?: int, a?: any"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := schematest.Compile(t, tt.schema).Signature(); got != tt.want {
				t.Errorf("Signature() = %q, want %q", got, tt.want)
			}
		})
	}
}
