package builtin

import (
	"encoding/json"
	"errors"
	"strings"

	"callgate/llmtool"
)

// structure makes JSON of a text, as the caller's schema wants it.
func structure() llmtool.Definition {
	return llmtool.Definition{
		ID:          ID("structure"),
		Description: "Makes JSON out of a request in words, valid under the JSON Schema that is given.",
		InputSchema: object(map[string]any{
			"request": described("string", "what the JSON is to say"),
			"schema":  described("object", "the JSON Schema of the result"),
		}, "request", "schema"),
		OutputSchemaFrom: "schema", OutputFormat: llmtool.JSON,
		SystemPrompt: "You write down what a request says as JSON. Take values from the request and invent none: " +
			"what it does not say is left out where the schema allows that." + dataRule,
		UserTemplate:    "The request:\n{{request}}",
		PrepareInput:    func(input map[string]any) (map[string]any, error) { return asData(input, "request"), nil },
		ModelPreference: ask(600, 0), Tags: []string{"text", "json"},
	}
}

// Fact is one thing that a text says.
type Fact struct {
	Key      string `json:"key"`
	Value    string `json:"value"`
	Category string `json:"category"`
	Span     string `json:"span,omitempty"`
}

// Categories are the kinds of facts.
func Categories() []string {
	return []string{
		"name", "date", "time", "path", "url", "email", "phone", "address", "amount", "number", "identifier", "other",
	}
}

// FactExtract finds the facts of a text.
func FactExtract() llmtool.Definition {
	fact := map[string]any{
		"type": "object", "required": []any{"key", "value", "category"}, "additionalProperties": false,
		"properties": map[string]any{
			"key":      map[string]any{"type": "string", "minLength": 1, "description": "what it is about, in a few words"},
			"value":    described("string", "what the text says of it, exactly"),
			"category": map[string]any{"enum": Categories()},
			"span":     described("string", "the words of the text that say it"),
		},
	}
	return llmtool.Definition{
		ID:          ID("fact-extract"),
		Description: "Finds the facts of a text: names, dates, paths, amounts and other exact values, each with its key.",
		InputSchema: object(map[string]any{
			"content": described("string", "the text"),
			"maxFacts": map[string]any{
				"type": "integer", "minimum": 1, "maximum": 200, "default": 50, "description": "how many at most",
			},
		}, "content"),
		OutputSchema: object(map[string]any{"facts": map[string]any{"type": "array", "items": fact}}, "facts"),
		SystemPrompt: "You find the facts of a text that are worth knowing later: names, dates, paths, addresses, amounts, " +
			"decisions. Copy values exactly. Leave out passwords, keys and other secrets, and what the text does not say." +
			dataRule,
		UserTemplate: "Find at most {{maxFacts}} facts in this text, the most important first.\n\n{{content}}",
		PrepareInput: func(input map[string]any) (map[string]any, error) {
			input["maxFacts"] = maxFacts(input)
			return asData(input, "content"), nil
		},
		ResolveOutput: func(input map[string]any) (llmtool.Output, error) {
			content, ok := input["content"].(string)
			if !ok {
				return llmtool.Output{}, errors.New("there is no content")
			}
			list := map[string]any{"type": "array", "items": fact, "maxItems": maxFacts(input)}
			return llmtool.Output{
				Schema: object(map[string]any{"facts": list}, "facts"),
				Finish: func(answer json.RawMessage) (json.RawMessage, error) { return foundIn(content, answer) },
			}, nil
		},
		ModelPreference: ask(2000, 0), Tags: []string{"text", "facts"},
	}
}

func maxFacts(input map[string]any) int {
	if n := number(input["maxFacts"]); n > 0 {
		return n
	}
	return 50
}

// foundIn takes away the spans that a text does not have, and facts that are said twice.
func foundIn(content string, answer json.RawMessage) (json.RawMessage, error) {
	var out struct {
		Facts []Fact `json:"facts"`
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return nil, err
	}
	fold := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	text, seen, kept := fold(content), map[[2]string]bool{}, []Fact{}
	for _, f := range out.Facts {
		if seen[[2]string{f.Key, f.Value}] {
			continue
		}
		seen[[2]string{f.Key, f.Value}] = true
		if !strings.Contains(text, fold(f.Span)) {
			f.Span = ""
		}
		kept = append(kept, f)
	}
	out.Facts = kept
	return json.Marshal(out)
}
