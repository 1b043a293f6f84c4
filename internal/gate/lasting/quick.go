package lasting

import (
	"hash/maphash"
	"path/filepath"
	"strings"
)

// What is here only sorts out most grants that do not cover a call. Whether one
// does is the pattern's to say.

// hash is the same for equal arguments, in whatever order their names are. What a
// pattern may leave out of its comparison is left out here.
func hash(seed maphash.Seed, v any) uint64 {
	switch v := v.(type) {
	case map[string]any:
		sum := uint64(1)
		for name, value := range v {
			if name != "description" && name != "timeout" {
				sum += maphash.String(seed, name) * (2*hash(seed, value) + 1)
			}
		}
		return sum
	case []any:
		sum := uint64(len(v))
		for _, value := range v {
			sum = sum*1_000_003 + hash(seed, value)
		}
		return sum
	case string:
		return maphash.String(seed, v)
	case float64:
		return maphash.Comparable(seed, v)
	case bool:
		if v {
			return 3
		}
		return 5
	default:
		return 7
	}
}

// prefix is how the value of one parameter must begin.
type prefix struct{ param, text string }

// prefixOf returns the longest prefix that a pattern demands.
func prefixOf(form map[string]any) (longest prefix) {
	for param, condition := range form {
		text, ok := condition.(string)
		if i := strings.IndexAny(text, `*?[{\`); i >= 0 {
			text = text[:i]
		}
		if strings.Contains(text, "://") {
			continue // an address has many spellings
		}
		if ok && !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, ".") && len(text) > len(longest.text) {
			longest = prefix{param, text}
		}
	}
	return longest
}

// valueCache has the value of the parameter that was asked for last.
type valueCache struct {
	param, value string
	known        bool
}

// mayFit reports whether a value of the call begins with the prefix, or may.
func (v *valueCache) mayFit(c *Call, p prefix) bool {
	if p.text == "" {
		return true
	}
	if v.param != p.param {
		v.param = p.param
		v.value, v.known = c.textOf(p.param)
	}
	return !v.known || strings.HasPrefix(v.value, strings.TrimSuffix(p.text, "/"))
}

// textOf is the text that a pattern compares with the first value of a parameter.
func (c *Call) textOf(param string) (string, bool) {
	paths := c.Paths[param]
	if len(paths) == 0 {
		text, ok := c.Args[param].(string)
		return text, ok && !strings.HasPrefix(text, ".")
	}
	rel, err := filepath.Rel(c.Workspace, paths[0])
	return filepath.ToSlash(rel), err == nil
}
