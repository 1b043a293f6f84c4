package condition_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/condition"
)

const outputSchema = `{"type":"object","additionalProperties":false,"properties":{
	"count":{"type":"integer"}, "state":{"type":["string","null"]}, "any":{}, "ref":{"$ref":"#/x"},
	"mixed":{"type":["string","number"]}, "items":{"type":"array","items":{"type":"object","properties":{"x":{"type":"number"}}}}}}`

func TestTypeOfSchema(t *testing.T) {
	env := condition.Env{Implied: "result", Roots: map[string]condition.Type{
		"result": condition.TypeOfSchema(json.RawMessage(outputSchema))}}
	for source, says := range map[string]string{
		"result.count > 5":               "",
		"result.count == done":           "cannot compare",
		"result.cuont > 5":               "did you mean count",
		"result.state == done":           "",
		"result.state == null":           "",
		"result.state > 5":               "cannot compare",
		"result.any > 5":                 "",
		"result.ref.x > 5":               "",
		"result.mixed == done":           "",
		"result.items.x > 5":             "result.items is a list",
		"result.items[0].x > 5":          "",
		"result.items[0].x == done":      "cannot compare",
		"result.items[0].other == done":  "",
		"result.items[*].x contains 5":   "",
		"result.items[*].x.y contains 5": "has no field y",
		"result == 5":                    "cannot compare",
	} {
		_, err := condition.Compile(source, env)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", source, err)
		}
	}
	for _, schema := range []string{``, `true`, `{`, `{"type":7}`, `{"type":"odd"}`, `{"anyOf":[]}`} {
		if got := condition.TypeOfSchema(json.RawMessage(schema)); got.Kind != condition.Any {
			t.Errorf("%s is %v", schema, got.Kind)
		}
	}
}

func FuzzTypeOfSchema(f *testing.F) {
	f.Add(outputSchema)
	f.Add(strings.Repeat(`{"type":"array","items":`, 100) + "1" + strings.Repeat("}", 100))
	f.Fuzz(func(_ *testing.T, schema string) { condition.TypeOfSchema(json.RawMessage(schema)) })
}
