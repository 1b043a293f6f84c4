// Package phrase describes values, types and paths in text for a model or a
// person.
//
// The law: for any input the text is short, on one line, valid UTF-8, and the same
// every time.
package phrase

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"callgate/internal/gate/schema/limits"
	"callgate/internal/gate/schema/walk"
)

// The limits of the parts of an error, in bytes except for MaxListed.
const (
	MaxGot    = 60  // the value that came
	MaxWant   = 300 // what was expected
	MaxPath   = 160 // the path of the value
	MaxListed = 10  // names or values in a list
)

// Truncate shortens text to about most bytes and makes it one line of valid UTF-8.
func Truncate(text string, most int) string {
	cut := len(text) > most
	if cut {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most]
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if cut {
		text += "…"
	}
	return text
}

// Path returns a path in readable form: edits[0].line. It looks into doc to tell
// the index of an item from the name of a property.
func Path(doc any, path []string) string {
	var b strings.Builder
	for _, token := range path {
		if b.Len() > MaxPath {
			break
		}
		_, isList := doc.([]any)
		switch {
		case isList:
			b.WriteString("[" + token + "]")
		case !plainName(token):
			fmt.Fprintf(&b, "[%q]", Truncate(token, MaxGot))
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(token)
		}
		doc, _ = walk.Child(doc, token)
	}
	return Truncate(b.String(), MaxPath)
}

// Subject returns a path as the subject of a sentence.
func Subject(doc any, path []string) string {
	if len(path) == 0 {
		return "the arguments"
	}
	return Path(doc, path)
}

func plainName(name string) bool {
	for _, r := range name {
		isPlain := r == '_' || r == '-' || r == '$' ||
			'0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !isPlain {
			return false
		}
	}
	return name != ""
}

// TypeName returns the JSON Schema type of a decoded value.
func TypeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// Types describes the wanted types: an integer or null.
func Types(types []string) string {
	words := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "null":
			words[i] = "null"
		case "boolean":
			words[i] = "true or false"
		case "integer":
			words[i] = "an integer"
		case "array":
			words[i] = "a list"
		case "object":
			words[i] = "an object"
		default:
			words[i] = "a " + t
		}
	}
	return Or(words)
}

// Or joins alternatives: a, b or c.
func Or(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return strings.Join(words, "")
}

// Literal returns a value as JSON, truncated.
func Literal(value any) string {
	if text, ok := value.(string); ok {
		value = strings.ToValidUTF8(text[:min(len(text), 4*MaxGot)], "")
	}
	if walk.IsContainer(value) {
		return Actual(value)
	}
	text, err := limits.Encode(value)
	if err != nil {
		return "a value"
	}
	return Truncate(string(text), MaxGot)
}

// Quote describes a value that was coerced.
func Quote(value any) string {
	if _, ok := value.(string); ok {
		return Literal(value) + " (text)"
	}
	return Actual(value)
}

// Actual describes a value that came.
func Actual(value any) string {
	switch value := value.(type) {
	case string:
		return "text " + Literal(value)
	case json.Number:
		return "the number " + Truncate(string(value), MaxGot)
	case []any:
		return "a list of " + Count(len(value), "item")
	case map[string]any:
		if len(value) == 0 {
			return "an empty object"
		}
		return Truncate("an object with "+List(slices.Sorted(maps.Keys(value)), 4), MaxGot)
	default:
		return Literal(value)
	}
}

// Count returns a number with its noun: 1 item, 2 items.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// List joins up to most words and counts the rest.
func List(words []string, most int) string {
	if len(words) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	}
	return strings.Join(words, ", ")
}

// Enum lists the allowed values.
func Enum(values []any) string {
	var words []string
	for _, v := range values {
		if w := Literal(v); len(words) <= MaxListed && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	switch {
	case len(words) == 1 && len(values) == 1:
		return words[0]
	case len(words) > MaxListed:
		return "one of " + strings.Join(words[:MaxListed], ", ") + " and others"
	default:
		return "one of " + strings.Join(words, ", ")
	}
}
