package schema

import (
	"encoding/json"
	"math"
	"slices"

	"callgate/internal/gate/schema/limits"
)

// Usable returns why a schema cannot be used, as [Compile] does. Most schemas are plain, and whether
// such a one can be used is seen by looking at it; only others are compiled.
func Usable(raw json.RawMessage) error {
	if len(raw) <= maxPlain {
		if doc, _, err := limits.ReadSchema(raw); err == nil && isPlain(doc) {
			return nil
		}
	}
	_, err := Compile(raw)
	return err
}

// maxPlain is the size in bytes up to which no schema without references costs too much to check.
const maxPlain = 16 << 10

// isPlain reports whether a schema says nothing but the types of its values, in keywords that are
// as the standard wants them.
func isPlain(doc any) bool {
	s, ok := doc.(map[string]any)
	if !ok {
		return false
	}
	for keyword, value := range s {
		if !isPlainKeyword(keyword, value) {
			return false
		}
	}
	return true
}

func isPlainKeyword(keyword string, value any) bool {
	switch keyword {
	case "type":
		name, ok := value.(string)
		return ok && slices.Contains(typeNames, name)
	case "properties":
		all, ok := value.(map[string]any)
		for _, sub := range all {
			ok = ok && isPlain(sub)
		}
		return ok
	case "items":
		return isPlain(value)
	case "additionalProperties":
		_, ok := value.(bool)
		return ok
	case "required":
		return areNames(value)
	case "description", "title":
		_, ok := value.(string)
		return ok
	case "minLength", "maxLength", "minItems", "maxItems":
		n, ok := value.(json.Number)
		f, err := n.Float64()
		return ok && err == nil && f >= 0 && f == math.Trunc(f) && f <= 1<<31
	}
	return false
}

var typeNames = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// areNames reports whether a value is a list of texts, each in it once.
func areNames(value any) bool {
	list, ok := value.([]any)
	seen := make(map[string]bool, len(list))
	for _, v := range list {
		name, isText := v.(string)
		ok = ok && isText && !seen[name]
		seen[name] = true
	}
	return ok
}
