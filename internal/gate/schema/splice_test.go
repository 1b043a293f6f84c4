package schema_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"callgate/internal/gate/schema"
)

const largeDefaults = `{"type":"object","properties":{
	"text":{"type":"string"},"mode":{"type":"string","default":"plain"},"n":{"type":"integer","default":3},
	"inner":{"type":"object","properties":{"deep":{"type":"integer","default":7}}}}}`

// TestDefaultsOfLargeArguments: large arguments are given their defaults as small ones
// are, and are not written anew for it.
func TestDefaultsOfLargeArguments(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(largeDefaults))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat(`a \"quoted\" line\n`, 400_000)
	for args, want := range map[string]string{
		`{"text":"` + long + `"}`:                            `{"text":"` + long + `","mode":"plain","n":3}`,
		` {"text":"` + long + `","n":4} `:                    `{"text":"` + long + `","mode":"plain","n":4}`,
		`{"inner":{},"text":"` + long + `"}`:                 `{"text":"` + long + `","mode":"plain","n":3,"inner":{"deep":7}}`,
		`{"inner":{},"n":1,"mode":"","text":"` + long + `"}`: `{"text":"` + long + `","mode":"","n":1,"inner":{"deep":7}}`,
	} {
		got, err := s.Check(json.RawMessage(args), schema.Lenient)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(got.Args, &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%.60s… became %.60s…%s", args, got.Args, got.Args[max(0, len(got.Args)-60):])
		}
		asItWas := strings.TrimSuffix(strings.TrimSpace(args), "}")
		if !strings.Contains(args, "inner") && !strings.HasPrefix(string(got.Args), asItWas) {
			t.Errorf("the text was written anew: %.60s", got.Args)
		}
		again, err := s.Check(got.Args, schema.Lenient)
		if err != nil || string(again.Args) != string(got.Args) {
			t.Errorf("checked again it changes: %v", err)
		}
	}
}
