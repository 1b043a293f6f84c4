package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/provider/openai"
	"callgate/llm"
)

// TestResponseFormat holds a model to a schema where the API takes one, and exactly where it can.
func TestResponseFormat(t *testing.T) {
	t.Parallel()
	const strict = `{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}},"required":["a"],"additionalProperties":false}`
	ok := events(delta(`{"content":"{}"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	for _, tc := range []struct {
		name, schema string
		supported    bool
		want         string
	}{
		{"exactly", strict, true, `"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":` + strict + `,"strict":true}}`},
		{"an optional property", `{"type":"object","properties":{"a":{}}}`, true, `"strict":false`},
		{"a word that is not held to", `{"type":"object","properties":{"a":{"type":"string","minLength":3}},"required":["a"],"additionalProperties":false}`, true, `"strict":false`},
		{"no object", `{"type":"array"}`, true, ""},
		{"no schema", ``, true, ""},
		{"a provider that takes none", strict, false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, w := client(openai.Quirks{JSONSchema: tc.supported}, ok)
			_, err := c.Generate(t.Context(), llm.Request{
				Output: json.RawMessage(tc.schema), Messages: []llm.Message{llm.TextMessage(llm.User, "hi")},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			sent := strings.Contains(w.bodies[0], "response_format")
			if sent != (tc.want != "") || !strings.Contains(w.bodies[0], tc.want) {
				t.Errorf("sent %s", w.bodies[0])
			}
		})
	}
}

// TestResponseFormatRejected asks again without it.
func TestResponseFormatRejected(t *testing.T) {
	t.Parallel()
	ok := events(delta(`{"content":"{}"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	c, w := client(openai.Quirks{JSONSchema: true},
		answer{400, "application/json", `{"error":{"message":"Unsupported parameter: 'response_format'","param":"response_format"}}`}, ok)
	_, err := c.Generate(t.Context(), llm.Request{
		Output: json.RawMessage(`{"type":"object"}`), Messages: []llm.Message{llm.TextMessage(llm.User, "hi")},
	}, nil)
	if err != nil || len(w.bodies) != 2 || strings.Contains(w.bodies[1], "response_format") {
		t.Errorf("%v after %q", err, w.bodies)
	}
}
