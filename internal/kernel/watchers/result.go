package watchers

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"

	"callgate/internal/condition"
	"callgate/tool"
)

// textField is the field of a result that holds what a model would read, beside the
// fields of its data.
const textField = "text"

// resultOf is what a watcher sees of a result: its data, with the text that a model
// reads in a field of its own where that says more; or the text, where there is no data.
func resultOf(r *tool.Result) json.RawMessage {
	text := textOf(r)
	if len(r.Data) == 0 || !json.Valid(r.Data) {
		if text == "" {
			text = r.Summary
		}
		return quote(text)
	}
	if text == "" || sameJSON(text, r.Data) {
		return r.Data
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(r.Data, &fields) != nil || fields == nil || fields[textField] != nil {
		return r.Data
	}
	fields[textField] = quote(text)
	data, err := json.Marshal(fields)
	if err != nil {
		return r.Data
	}
	return data
}

// textOf is the text of a result.
func textOf(r *tool.Result) string {
	var b strings.Builder
	for _, c := range r.Content {
		if c.Type == "text" {
			b.WriteString(c.Text)
			b.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func quote(text string) json.RawMessage {
	data, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return data
}

// sameJSON reports whether a text is a JSON value, as servers repeat it for models.
func sameJSON(text string, data json.RawMessage) bool {
	var a, b bytes.Buffer
	return json.Compact(&a, []byte(text)) == nil && json.Compact(&b, data) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}

// resultType is what is known of the result of a tool, as resultOf makes it.
func resultType(t *tool.Tool) condition.Type {
	known := condition.TypeOfSchema(t.Spec.Output)
	if known.Kind == condition.Map {
		known.Fields = maps.Clone(known.Fields)
		if _, has := known.Fields[textField]; !has {
			known.Fields[textField] = condition.Type{Kind: condition.Text}
		}
	}
	return known
}
