package walk

import "strconv"

// Child returns what lies under token in an object or a list.
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

// Replace returns doc with the value at path replaced; it reports false when
// there is no such place. Only the innermost container is written to.
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

// Remove takes the property at path out of its object within doc. It reports
// false when that is no property: the items of a list stay where they are.
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

// IsContainer reports whether value is one that can hold others.
func IsContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// Clone copies a decoded value, so that what is filled in from a schema never
// shares memory with it.
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
