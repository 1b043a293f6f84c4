package schema_test

import (
	"encoding/json"
	"testing"

	"callgate/internal/gate/schema"
	"callgate/internal/gate/schema/schematest"
)

func TestDefaultsAreFilledIn(t *testing.T) {
	t.Parallel()
	const draft7 = `"$schema":"http://json-schema.org/draft-07/schema#",`
	tests := []struct{ name, schema, args, want string }{
		{"absent property", `{"properties":{"a":{"default":1},"b":{}}}`, `{}`, `{"a":1}`},
		{"present property", `{"properties":{"a":{"default":1}}}`, `{ "a": 2 }`, `{ "a": 2 }`},
		{"null is present", `{"properties":{"a":{"default":1}}}`, `{"a":null}`, `{"a":null}`},
		{"null as a default", `{"properties":{"a":{"default":null}}}`, `{}`, `{"a":null}`},
		{"required with a default", `{"properties":{"a":{"default":1}},"required":["a"]}`, `{}`, `{"a":1}`},
		{"in an object that is present",
			`{"properties":{"o":{"properties":{"a":{"default":1}}}}}`, `{"o":{}}`, `{"o":{"a":1}}`},
		{"not in an object that is absent", `{"properties":{"o":{"properties":{"a":{"default":1}}}}}`, `{}`, `{}`},
		{"inside a default", `{"properties":{"o":{"default":{"b":2},"properties":{"a":{"default":1},"b":{}}}}}`,
			`{}`, `{"o":{"a":1,"b":2}}`},
		{"a default that only holds when filled",
			`{"properties":{"o":{"default":{},"properties":{"a":{"default":1}},"required":["a"]}}}`, `{}`, `{"o":{"a":1}}`},
		{"on the ref", `{"properties":{"a":{"$ref":"#/$defs/n","default":2}},"$defs":{"n":{"type":"integer"}}}`,
			`{}`, `{"a":2}`},
		{"behind the ref",
			`{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer","default":3}}}`, `{}`, `{"a":3}`},
		{"beside a ref, which draft-07 ignores",
			`{` + draft7 + `"properties":{"a":{"$ref":"#/definitions/n","default":2}},"definitions":{"n":{"type":"integer"}}}`,
			`{}`, `{}`},
		{"nested behind the ref",
			`{"properties":{"o":{"$ref":"#/$defs/o"}},"$defs":{"o":{"properties":{"a":{"default":1}}}}}`, `{"o":{}}`,
			`{"o":{"a":1}}`},
		{"at the root behind the ref",
			`{"$ref":"#/$defs/o","$defs":{"o":{"properties":{"a":{"default":1}}}}}`, `{}`, `{"a":1}`},
		{"in allOf", `{"allOf":[{"properties":{"a":{"default":1}}},{"properties":{"a":{"default":2},"b":{"default":3}}}]}`,
			`{}`, `{"a":1,"b":3}`},
		{"in items", `{"properties":{"l":{"items":{"properties":{"a":{"default":1}}}}}}`,
			`{"l":[{},{"a":2},5]}`, `{"l":[{"a":1},{"a":2},5]}`},
		{"in prefixItems", `{"properties":{"l":{"prefixItems":[{},{"properties":{"a":{"default":1}}}]}}}`,
			`{"l":[{},{},{}]}`, `{"l":[{},{"a":1},{}]}`},
		{"in items of draft-07", `{` + draft7 + `"properties":{"l":{"items":[{},{"properties":{"a":{"default":1}}}]}}}`,
			`{"l":[{},{},{}]}`, `{"l":[{},{"a":1},{}]}`},
		{"in additional properties", `{"additionalProperties":{"properties":{"a":{"default":1}}}}`,
			`{"z":{}}`, `{"z":{"a":1}}`},
		{"in pattern properties", `{"patternProperties":{"^z":{"properties":{"a":{"default":1}}}}}`,
			`{"z":{},"y":{}}`, `{"y":{},"z":{"a":1}}`},
		{"in the alternative that holds",
			`{"properties":{"o":{"anyOf":[{"type":"null"},{"type":"object","properties":{"a":{"default":1}}}]}}}`, `{"o":{}}`,
			`{"o":{"a":1}}`},
		{"not in an alternative that does not",
			`{"properties":{"o":{"oneOf":[{"type":"object","required":["k"],"properties":{"a":{"default":1}}},` +
				`{"type":"object","properties":{"b":{"default":2}},"not":{"required":["k"]}}]}}}`,
			`{"o":{}}`, `{"o":{"b":2}}`},
		{"a default its own schema refuses",
			`{"properties":{"a":{"type":"string","default":null},"b":{"default":1}}}`, `{}`, `{"b":1}`},
		{"defaults that would spoil a valid value",
			`{"properties":{"a":{"default":1}},"dependentRequired":{"a":["b"]}}`, `{ "c": 1}`, `{ "c": 1}`},
		{"defaults that call for themselves",
			`{"$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"}},"default":{}}},"$ref":"#/$defs/n"}`, `{ }`, `{ }`},
		{"defaults that multiply",
			`{"$defs":{"n":{"properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/n"},` +
				`"c":{"$ref":"#/$defs/n"},"d":{"$ref":"#/$defs/n"}},"default":{}}},"$ref":"#/$defs/n"}`,
			`{ }`, `{ }`},
		{"with a coercion", `{"properties":{"o":{"type":"object","properties":{"a":{"default":1},"n":{"type":"integer"}}}}}`,
			`{"o":"{\"n\":\"5\"}"}`, `{"o":{"a":1,"n":5}}`},
		{"with a coercion after which they have no end",
			`{"properties":{"o":{"type":"object","$ref":"#/$defs/n"}},` +
				`"$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n","default":{}}}}}}`,
			`{"o":"{}"}`, `{"o":{}}`},
		{"with a coercion they would spoil",
			`{"properties":{"a":{"default":1},"n":{"type":"integer"}},"dependentRequired":{"a":["b"]}}`, `{"n":"5"}`, `{"n":5}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := schematest.Compile(t, tt.schema)
			out, err := s.Check(json.RawMessage(tt.args), schema.Lenient)
			if err != nil {
				t.Fatal(err)
			}
			if string(out.Args) != tt.want {
				t.Errorf("Check(%s) = %s, want %s", tt.args, out.Args, tt.want)
			}
			again, err := s.Check(out.Args, schema.Lenient)
			if err != nil || string(again.Args) != string(out.Args) || len(again.Coercions) > 0 {
				t.Errorf("checked again: %s, %q, %v", again.Args, again.Coercions, err)
			}
		})
	}
}

// Two calls must not share the memory of a default.
func TestDefaultsAreNotShared(t *testing.T) {
	t.Parallel()
	s := schematest.Compile(t,
		`{"properties":{"o":{"default":{},"properties":{"n":{"type":"integer"},"l":{"default":[{}]}}}}}`)
	first, err := s.Check(json.RawMessage(`{}`), schema.Lenient)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Check(json.RawMessage(`{"o":{"n":"1"}}`), schema.Lenient); err != nil {
		t.Fatal(err)
	}
	again, err := s.Check(json.RawMessage(`{}`), schema.Lenient)
	if err != nil || string(again.Args) != string(first.Args) {
		t.Errorf("first %s, then %s, %v", first.Args, again.Args, err)
	}
}
