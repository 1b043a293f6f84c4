// Package quick accepts arguments by reading their text once, for schemas that say nothing but the types of their
// values. Most tools have such a schema, and most calls arguments that fit it as they are.
//
// # Law
//
// What is accepted here the validator accepts too, and nothing of it would be coerced, filled in or written in another
// way. What is not accepted may be right all the same: the validator decides.
package quick

import (
	"encoding/json"
	"slices"
)

// maxProperties bounds the properties of an object: which of them were given are the bits of a number.
const maxProperties = 64

// Schema is a schema whose values can be accepted by their text. Nil accepts nothing.
type Schema struct {
	kind     byte // of the value: the first letter of the type's name, but N for a number and 0 for null
	names    []string
	values   []*Schema // of the names
	required uint64    // which of the names must be given
	items    *Schema   // of an array; nil: unknown
	only     []string  // the texts that a string may be; nil: any
}

// The kinds of value.
const (
	object  = 'o'
	array   = 'a'
	text    = 's'
	integer = 'i'
	number  = 'N'
	boolean = 'b'
	null    = '0'
)

// Of reads a schema; nil if it is none of an object, or says more than is understood here.
func Of(doc any) *Schema {
	if s := of(doc); s != nil && s.kind == object {
		return s
	}
	return nil
}

func of(doc any) *Schema {
	m, ok := doc.(map[string]any)
	if !ok {
		return nil
	}
	s := &Schema{}
	name, _ := m["type"].(string)
	kinds := map[string]byte{
		"object": object, "array": array, "string": text, "integer": integer, "number": number,
		"boolean": boolean, "null": null,
	}
	if s.kind = kinds[name]; s.kind == 0 || !s.readProperties(m) {
		return nil
	}
	for keyword, value := range m {
		if !s.understands(keyword, value) {
			return nil
		}
	}
	return s
}

// readProperties reads the properties of an object, and which of them must be given.
func (s *Schema) readProperties(m map[string]any) bool {
	properties, _ := m["properties"].(map[string]any)
	for name, doc := range properties {
		value := of(doc)
		if value == nil || len(s.names) == maxProperties {
			return false
		}
		s.names, s.values = append(s.names, name), append(s.values, value)
	}
	required, _ := m["required"].([]any)
	for _, v := range required {
		name, _ := v.(string)
		i := slices.Index(s.names, name)
		if i < 0 {
			return false
		}
		s.required |= 1 << i
	}
	return true
}

// understands reports whether a keyword says nothing that is not checked here.
func (s *Schema) understands(keyword string, value any) bool {
	switch keyword {
	case "type", "properties", "required": // were read
		return true
	case "description", "title":
		return true
	case "$schema":
		return value == "http://json-schema.org/draft-07/schema#" ||
			value == "https://json-schema.org/draft/2020-12/schema"
	case "additionalProperties": // only properties that are known are accepted
		_, ok := value.(bool)
		return ok
	case "items":
		s.items = of(value)
		return s.items != nil
	case "enum":
		all, ok := value.([]any)
		for _, v := range all {
			one, isText := v.(string)
			ok = ok && isText
			s.only = append(s.only, one)
		}
		return ok && s.kind == text && len(s.only) > 0
	}
	return false
}

// Accepts reports whether arguments fit the schema, exactly as they are.
func (s *Schema) Accepts(args json.RawMessage) bool {
	if s == nil || len(args) > maxText {
		return false
	}
	r := reader{data: args}
	return r.value(s, 0) && r.peek() == 0 && r.at == len(r.data)
}
