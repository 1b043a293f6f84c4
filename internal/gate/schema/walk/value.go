package walk

import "strconv"

// Child returns the member of an object or list that token names.
func Child(doc any, token string) (any, bool) {
	switch doc := doc.(type) {
	case map[string]any:
		v, ok := doc[token]
		return v, ok
	case []any:
		if i, err := strconv.Atoi(token); err == nil && 0 <= i && i < len(doc) {
			return doc[i], true
		}
	}
	return nil, false
}

// At returns the value at path within doc.
func At(doc any, path []string) (any, bool) {
	ok := true
	for _, token := range path {
		if doc, ok = Child(doc, token); !ok {
			return nil, false
		}
	}
	return doc, true
}

// Replace returns doc with the value at path replaced. It reports false if the
// path does not exist. Only the innermost container is changed.
func Replace(doc any, path []string, value any) (any, bool) {
	if len(path) == 0 {
		return value, true
	}
	last := path[len(path)-1]
	parent, ok := At(doc, path[:len(path)-1])
	if !ok {
		return doc, false
	}
	switch parent := parent.(type) {
	case map[string]any:
		parent[last] = value
		return doc, true
	case []any:
		if i, err := strconv.Atoi(last); err == nil && 0 <= i && i < len(parent) {
			parent[i] = value
			return doc, true
		}
	}
	return doc, false
}

// Remove removes the property at path from its object within doc. It reports false
// if the path does not name a property: items of a list are never removed.
func Remove(doc any, path []string) bool {
	if len(path) == 0 {
		return false
	}
	last := path[len(path)-1]
	parent, _ := At(doc, path[:len(path)-1])
	object, ok := parent.(map[string]any)
	if _, present := object[last]; !ok || !present {
		return false
	}
	delete(object, last)
	return true
}

// IsContainer reports whether value is an object or a list.
func IsContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// Clone copies a decoded value, so that a default that is filled in never shares
// memory with the schema.
func Clone(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for k, v := range value {
			out[k] = Clone(v)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = Clone(v)
		}
		return out
	default:
		return value
	}
}
