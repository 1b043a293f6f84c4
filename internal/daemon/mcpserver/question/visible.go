package question

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/visible"
)

// maxMessage is how many characters of a server's question a form shows.
const maxMessage = 8_000

// FromServer is a server's form as a client shows it to its human: it names the
// server that asks, and hides nothing. Names of fields and choices are part of
// the answer and stay as they are; those that hide something are listed.
func FromServer(server string, form *sdk.ElicitParams) *sdk.ElicitParams {
	shown := *form
	shown.Mode = "form"
	shown.Message = "The MCP server " + visible.Text(server) + " asks: " + visible.ClipLines(form.Message, maxMessage)
	schema, ok := decoded(form.RequestedSchema)
	if !ok {
		return &shown
	}
	var s formSchema
	schema = s.show("", schema)
	if s.changed {
		shown.RequestedSchema = schema
	}
	if len(s.hiding) > 0 {
		slices.Sort(s.hiding)
		shown.Message += "\n\nNames and choices here hide characters: " +
			strings.Join(slices.Compact(s.hiding), ", ") + "."
	}
	return &shown
}

// decoded is a schema as plain values.
func decoded(schema any) (any, bool) {
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	return value, dec.Decode(&value) == nil
}

// formSchema makes the words of a form's schema visible.
type formSchema struct {
	changed bool
	hiding  []string // names and choices that hide something, made visible
}

// show returns the value under a key of the schema with visible words.
func (s *formSchema) show(key string, value any) any {
	switch v := value.(type) {
	case string:
		return s.words(key, v)
	case []any:
		for i := range v {
			v[i] = s.show(key, v[i])
		}
	case map[string]any:
		for name := range v {
			if shown := visible.Text(name); shown != name {
				s.hiding = append(s.hiding, shown)
			}
			under := name
			if key == "properties" {
				under = "" // the name of a field, also one called title
			}
			v[name] = s.show(under, v[name])
		}
	}
	return value
}

func (s *formSchema) words(key, text string) string {
	shown := text
	switch key {
	case "title", "enumNames":
		shown = visible.Text(text)
	case "description":
		shown = visible.ClipLines(text, maxMessage)
	case "enum", "const", "default":
		if seen := visible.Lines(text); seen != text {
			s.hiding = append(s.hiding, seen)
		}
	}
	s.changed = s.changed || shown != text
	return shown
}
