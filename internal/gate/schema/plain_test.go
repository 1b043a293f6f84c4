package schema_test

import (
	"testing"

	"callgate/internal/gate/schema"
)

// FuzzUsable: what can be used is what compiles, whether or not it had to be compiled to see it.
func FuzzUsable(f *testing.F) {
	for _, text := range fuzzSchemas {
		f.Add([]byte(text))
	}
	for _, text := range []string{
		`{}`, `true`, `[]`, ``, `{"type":"object"`, `{"type":"text"}`, `{"type":["string","null"]}`, `{"type":5}`,
		`{"type":"object","properties":{"a":{"type":"string","description":"x","title":"y"}},"required":["a"]}`,
		`{"properties":{"a":true}}`, `{"properties":{"a":{"type":"nope"}}}`, `{"properties":[]}`,
		`{"required":["a","a"]}`, `{"required":"a"}`, `{"required":[1]}`, `{"required":[]}`,
		`{"items":{"type":"integer"},"minItems":0,"maxItems":3}`, `{"minItems":-1}`, `{"minItems":1.5}`,
		`{"minLength":1e2}`, `{"maxLength":"3"}`, `{"maxLength":1e400}`, `{"additionalProperties":false}`,
		`{"additionalProperties":{"type":"string"}}`, `{"additionalProperties":1}`, `{"description":5}`,
		`{"$ref":"#/x"}`, `{"pattern":"("}`, `{"unknown":{"type":7}}`, `{"properties":{"$ref":{"type":"string"}}}`,
		`{"properties":{"":{"type":"null"}},"title":"\u0000"}`, `{"a":1,"a":2}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, compiled := schema.Compile(text)
		if usable := schema.Usable(text); (usable == nil) != (compiled == nil) {
			t.Errorf("%s: usable says %v, and compile %v", text, usable, compiled)
		}
	})
}
