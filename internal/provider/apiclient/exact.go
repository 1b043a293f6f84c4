package apiclient

import "slices"

// Optional says whether a provider that holds a model exactly to a schema takes optional properties.
type Optional bool

// What providers want of the properties of an object.
const (
	EveryPropertyRequired Optional = false
	OptionalProperties    Optional = true
)

// exactWords are the words of a schema to which providers hold a model exactly. A schema with other
// words is refused if it asks for that.
var exactWords = []string{
	"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "description", "title",
}

// HoldsExactly reports whether a provider can hold a model exactly to a schema: every object names all
// its properties, takes no others, and requires them where the provider takes no optional ones.
func HoldsExactly(s map[string]any, optional Optional) bool {
	for word := range s {
		if !slices.Contains(exactWords, word) {
			return false
		}
	}
	properties, _ := s["properties"].(map[string]any)
	if s["type"] == "object" {
		required, _ := s["required"].([]any)
		if s["additionalProperties"] != false || !bool(optional) && len(required) != len(properties) {
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
		if of, ok := b.(map[string]any); !ok || !HoldsExactly(of, optional) {
			return false
		}
	}
	return true
}
