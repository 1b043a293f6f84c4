package search

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"callgate/internal/search/lexical"
)

// decoded returns what params should find, by decoding the whole schema; by name.
func decoded(schema []byte, depth int) []lexical.Param {
	var s, properties map[string]json.RawMessage
	_ = json.Unmarshal(schema, &s)
	if depth >= maxNesting {
		return nil
	}
	_ = json.Unmarshal(s["properties"], &properties)
	var list []lexical.Param
	for name, inner := range properties {
		var p map[string]any
		_ = json.Unmarshal(inner, &p)
		text, _ := p["description"].(string)
		list = append(append(list, lexical.Param{Name: name, Text: text}), decoded(inner, depth+1)...)
	}
	return append(list, decoded(s["items"], depth+1)...)
}

func sorted(list []lexical.Param) []lexical.Param {
	slices.SortFunc(list, func(a, b lexical.Param) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Text, b.Text))
	})
	return list
}

var schemas = []string{
	`{}`, `true`, `null`, `[]`, `"properties"`, ``, `{"properties":true}`, `{"properties":{}}`,
	`{"type":"object","properties":{"path":{"type":"string","description":"where \"it\" lies\n\u00e9"},` +
		`"b":{"enum":["}","{",[1,2,{"description":"no"}]]},"a":true}}`,
	`{"$defs":{"x":{"properties":{"no":{}}}},"properties":{"z":{"properties":{"description":{"type":"string"}},` +
		`"description":"deep"}},"required":["z"]}`,
	`{"properties":{"d":{"description":{"not":"text"}},"n":{"description":null}}}`,
	`{"properties":{"list":{"type":"array","items":{"properties":{"inner":{"description":"within",` +
		`"properties":{"innermost":{}}}}}}}}`,
	` { "properties" : { "s" : { "description" : "spaced" } } } `,
}

func TestParams(t *testing.T) {
	for _, schema := range schemas {
		if changes := diff.Diff(sorted(decoded([]byte(schema), 0)), sorted(params([]byte(schema)))); changes != "" {
			t.Errorf("%s (-want +got):\n%s", schema, changes)
		}
	}
}

// params ends on any text, and reads JSON as a decoder does.
func FuzzParams(f *testing.F) {
	for _, schema := range schemas {
		f.Add([]byte(schema))
	}
	for _, broken := range []string{
		`{"properties":{"a":{"description":"x`, `{"properties":{"a"`, `{"properties":{]}`, `{{{{`,
		`{"properties":{"a":1 2 3}}`, `{"a":,"properties":{"b":{}}}`,
	} {
		f.Add([]byte(broken))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		got := params(schema)
		var whole map[string]any
		if json.Unmarshal(schema, &whole) != nil || twice(schema) {
			return
		}
		if changes := diff.Diff(sorted(decoded(schema, 0)), sorted(got)); changes != "" {
			t.Errorf("%q (-want +got):\n%s", schema, changes)
		}
	})
}

// twice reports whether a text could name a key twice, or with escapes: then
// decoding and params may differ.
func twice(schema []byte) bool {
	again, err := json.Marshal(json.RawMessage(schema))
	if err != nil {
		return true
	}
	var v any
	_ = json.Unmarshal(schema, &v)
	plain, err := json.Marshal(v)
	return err != nil || len(plain) != len(again) || !json.Valid(plain)
}
