package openai

import (
	"encoding/json"

	"callgate/internal/provider/apiclient"
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
	exact := apiclient.HoldsExactly(s, apiclient.EveryPropertyRequired)
	return &responseFormat{Type: "json_schema", JSONSchema: jsonSchema{Name: "answer", Schema: schema, Strict: exact}}
}
