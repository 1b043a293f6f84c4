package openai

import (
	"encoding/json"
	"slices"
)

// responseFormat holds a model to a JSON Schema.
type responseFormat struct {
	Type       string     `json:"type"`
	JSONSchema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// formatOf returns how a response is held to a schema; nil for a schema that the API does not take,
// which is one of anything but an object.
func formatOf(schema json.RawMessage) *responseFormat {
	var s map[string]any
	if json.Unmarshal(schema, &s) != nil || s["type"] != "object" {
		return nil
	}
	return &responseFormat{
		Type: "json_schema", JSONSchema: jsonSchema{Name: "answer", Schema: schema, Strict: isStrict(s)},
	}
}

// strictWords are the words of a schema to which the API holds a model exactly. A schema with other
// words is refused if it asks for that.
var strictWords = []string{
	"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "description", "title",
}

// isStrict reports whether the API can hold a model exactly to a schema: every object names all
// its properties, requires them and takes no others.
func isStrict(s map[string]any) bool {
	for word := range s {
		if !slices.Contains(strictWords, word) {
			return false
		}
	}
	properties, _ := s["properties"].(map[string]any)
	if s["type"] == "object" {
		required, _ := s["required"].([]any)
		if s["additionalProperties"] != false || len(required) != len(properties) {
			return false
		}
	}
	below := []any{}
	for _, p := range properties {
		below = append(below, p)
	}
	if items, ok := s["items"]; ok {
		below = append(below, items)
	}
	forms, _ := s["anyOf"].([]any)
	for _, b := range append(below, forms...) {
		if of, ok := b.(map[string]any); !ok || !isStrict(of) {
			return false
		}
	}
	return true
}
