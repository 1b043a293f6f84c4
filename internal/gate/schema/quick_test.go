package schema

import (
	"bytes"
	"encoding/json"
	"testing"
)

// quickSchemas are plain, and one is not.
var quickSchemas = []string{
	`{"type":"object","properties":{"word":{"type":"string"},"limit":{"type":"integer"}}}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"number"},` +
		`"b":{"type":"array","items":{"type":"object","properties":{"c":{"type":"boolean"},"d":{"type":"null"}},` +
		`"required":["c"]}},"e":{"type":"string","enum":["x","y"]}},"required":["a"],"additionalProperties":false}`,
	`{"type":"object","properties":{"n":{"type":"integer","minimum":3}}}`,
}

// FuzzQuick holds what is accepted quickly against the validator: it changes nothing of it.
func FuzzQuick(f *testing.F) {
	var compiled []*Schema
	for i, raw := range quickSchemas {
		s, err := Compile(json.RawMessage(raw))
		if err != nil {
			f.Fatal(err)
		}
		if (s.quick != nil) != (i < 2) {
			f.Fatalf("%s: %v", raw, s.quick)
		}
		compiled = append(compiled, s)
	}
	for _, args := range []string{
		`{"word":"hello","limit":3}`, ` { "limit" : -12 , "word" : "a\n\"b\"" } `, `{}`, `{"limit":1.0}`, `{"limit":1e2}`,
		`{"limit":01}`, `{"limit":-0}`, `{"word":"é"}`, `{"word":"\u0041"}`, `{"word":"a","word":"b"}`, `{"wörd":1}`,
		`{"a":1.5,"b":[{"c":true,"d":null},{"c":false}],"e":"x"}`, `{"a":1,"e":"z"}`, `{"b":[]}`, `{"a":1,"b":[{}]}`,
		`{"a":0.0}`, `{"a":-0.5}`, `{"a":1} x`, `{"a":1`, `{"a":1,}`, `{"word":7}`, `{"word":null}`, `null`, ``, `[]`,
		`{"a":123456789012345678}`, `{"n":5}`, `{"a":1,"f":2}`, `{"word":"` + "\x01" + `"}`,
	} {
		f.Add([]byte(args))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		for i, s := range compiled {
			if !s.quick.Accepts(args) {
				continue
			}
			for _, mode := range []Mode{Lenient, Strict, Exact} {
				slow := *s
				slow.quick = nil
				checked, err := slow.Check(args, mode)
				if err != nil || !bytes.Equal(checked.Args, args) || len(checked.Coercions) > 0 {
					t.Fatalf("%s accepts %q, and the validator: %+v, %v", quickSchemas[i], args, checked, err)
				}
			}
		}
	})
}

// TestQuickAccepts names what must not go the long way.
func TestQuickAccepts(t *testing.T) {
	for args, want := range map[string]bool{
		`{"word":"hello","limit":3}`: true, ` {"limit": -12, "word": "a\nb"} `: true, `{}`: true,
		`{"limit":1.0}`: false, `{"word":7}`: false, `{"word":"a","word":"b"}`: false, `{"more":1}`: false,
	} {
		s, err := Compile(json.RawMessage(quickSchemas[0]))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.quick.Accepts(json.RawMessage(args)); got != want {
			t.Errorf("%s: %v", args, got)
		}
	}
}
