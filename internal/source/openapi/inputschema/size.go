package inputschema

import (
	"encoding/json"
	"slices"
)

// withoutTexts leaves out the descriptions and examples below the first level.
func withoutTexts(v any, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			_, isText := one.(string)
			_, isList := one.([]any)
			if depth > 2 && (key == "description" && isText || key == "examples" && isList) {
				continue
			}
			out[key] = withoutTexts(one, depth+1)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = withoutTexts(one, depth+1)
		}
		return out
	}
	return v
}

// sized is a part of a schema, and its size in JSON, about.
type sized struct {
	value any
	size  int
}

// cutKey is a reference, and how many levels below it are written.
type cutKey struct {
	ref   string
	depth int
}

// cut writes a schema without definitions: what lies deeper than some levels may be anything.
// What a reference names is cut once for each depth and shared, so that schemas that all refer
// to each other cost little; the size tells whether the whole may be written.
func (s *Schemas) cut(v any, depth int) sized {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			return s.cutReference(ref, depth)
		}
		out := sized{size: 2}
		all := make(map[string]any, len(v))
		for key, one := range v {
			_, isText := one.(string)
			_, isMap := one.(map[string]any)
			_, isList := one.([]any)
			switch {
			case key == "description" && isText && depth < 8:
			case (isMap || isList) && depth <= 0 && !isData(key):
			default:
				below := s.cut(one, depth-1)
				all[key], out.size = below.value, out.size+below.size+len(key)+4
			}
		}
		out.value = all
		return out
	case []any:
		out := sized{size: 2}
		all := make([]any, len(v))
		for i, one := range v {
			below := s.cut(one, depth)
			all[i], out.size = below.value, out.size+below.size+1
		}
		out.value = all
		return out
	}
	return sized{v, sizeOf(v)}
}

func (s *Schemas) cutReference(ref string, depth int) sized {
	if depth <= 0 {
		return sized{map[string]any{}, 2}
	}
	key := cutKey{ref, depth}
	known, ok := s.cuts[key]
	if !ok {
		known = s.cut(s.named(ref).value, depth-1)
		s.cuts[key] = known
	}
	return known
}

// sizeOf is about how long a value is in JSON.
func sizeOf(v any) int {
	switch v := v.(type) {
	case map[string]any:
		n := 2
		for key, one := range v {
			n += len(key) + 4 + sizeOf(one)
		}
		return n
	case []any:
		n := 2
		for _, one := range v {
			n += 1 + sizeOf(one)
		}
		return n
	case string:
		return len(v) + 2
	case json.Number:
		return len(v)
	}
	return 5
}

// holdsNames reports whether a keyword holds schemas by name.
func holdsNames(key string) bool {
	return key == "properties" || key == "patternProperties" || key == "dependentSchemas"
}

// isData reports whether a keyword holds values, and no schemas.
func isData(key string) bool {
	return slices.Contains([]string{"enum", "const", "default", "examples", "required"}, key)
}
