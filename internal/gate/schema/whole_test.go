package schema_test

import (
	"encoding/json"
	"testing"

	"callgate/internal/gate/schema"
)

// TestIntegersAreWrittenPlain: an integer is one however it is written; its reader
// sees digits, exactly.
func TestIntegersAreWrittenPlain(t *testing.T) {
	t.Parallel()
	const text = `{"type":"object","properties":{
		"n": {"type":"integer"},
		"free": {"type":"number"},
		"any": {},
		"either": {"type":["integer","string"]},
		"list": {"type":"array","items":{"type":"integer"}},
		"deep": {"type":"object","properties":{"x":{"anyOf":[{"type":"integer"},{"type":"null"}]}}},
		"map": {"type":"object","additionalProperties":{"$ref":"#/$defs/whole"}}
	},"$defs":{"whole":{"type":"integer"}}}`
	s, err := schema.Compile(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"n":2.0}`:                  `{"n":2}`,
		`{"n":2e0}`:                  `{"n":2}`,
		`{"n":20E-1}`:                `{"n":2}`,
		`{"n":-0}`:                   `{"n":0}`,
		`{"n":-0.0}`:                 `{"n":0}`,
		`{"n":1e20}`:                 `{"n":100000000000000000000}`,
		`{"n":9007199254740993.0}`:   `{"n":9007199254740993}`,
		`{"n": 9007199254740993}`:    `{"n": 9007199254740993}`,
		`{"free":2.0}`:               `{"free":2.0}`,
		`{"any":2.0}`:                `{"any":2.0}`,
		`{"either":2.0}`:             `{"either":2}`,
		`{"list":[1,2.0,3e0]}`:       `{"list":[1,2,3]}`,
		`{"deep":{"x":2.0}}`:         `{"deep":{"x":2}}`,
		`{"map":{"a":2.0,"b":3}}`:    `{"map":{"a":2,"b":3}}`,
		`{"n":"2.0","list":["4e1"]}`: `{"list":[40],"n":2}`,
	} {
		for _, mode := range []schema.Mode{schema.Lenient, schema.Strict} {
			got, err := s.Check(json.RawMessage(in), mode)
			if err != nil || string(got.Args) != want {
				t.Errorf("%s: %s, %v", in, got.Args, err)
			}
		}
	}
	if got, err := s.Check(json.RawMessage(`{"n":2.0}`), schema.Exact); err != nil || string(got.Args) != `{"n":2.0}` {
		t.Errorf("exact: %s, %v", got.Args, err)
	}
	if _, err := s.Check(json.RawMessage(`{"n":2.5}`), schema.Lenient); err == nil {
		t.Error("2.5 is no integer")
	}
}
