package translate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Check reports a schema that is not valid. With a nil Check every object is.
type Check func(json.RawMessage) error

// openSchema is the schema of a tool whose own cannot be used.
var openSchema = json.RawMessage(`{"type":"object"}`)

// InputSchema is the schema for a tool's arguments. A valid schema is kept as it
// is. An invalid one is repaired where it is plain what was meant, and otherwise
// replaced by one that takes any object; the note then says so.
func (d Definition) InputSchema(check Check) (schema json.RawMessage, note string) {
	root, ok := object(d.Input)
	switch {
	case len(d.Input) == 0 || string(d.Input) == "null":
		return openSchema, "it has no input schema; any object is taken"
	case !ok:
		return openSchema, "its input schema is not an object; any object is taken"
	case !isObject(root):
		return openSchema, "its input schema is not one of an object; any object is taken"
	}
	if check == nil {
		check = func(json.RawMessage) error { return nil }
	}
	err := check(d.Input)
	if err == nil {
		if root["type"] == "object" {
			return d.Input, ""
		}
		root["type"] = "object" // arguments always are an object
		return encode(root), ""
	}
	f := schemaFixer{root: root}
	if inner, ok := root["properties"].(map[string]any); ok && isWrapped(inner) {
		root = inner
		f = schemaFixer{root, []string{"a schema inside its own properties"}}
	}
	f.schema(root)
	root["type"] = "object"
	if repaired := encode(root); check(repaired) == nil {
		return repaired, "its input schema was mended: " + strings.Join(f.done, ", ")
	}
	return openSchema, fmt.Sprintf("its input schema is not valid JSON Schema (%s); any object is taken", err)
}

// OutputSchema is the schema of a tool's result, or nil if it has no valid
// schema of an object.
func (d Definition) OutputSchema(check Check) (schema json.RawMessage, note string) {
	root, ok := object(d.Output)
	if len(d.Output) == 0 || string(d.Output) == "null" {
		return nil, ""
	}
	if !ok || root["type"] != "object" {
		return nil, "" // a result that is not an object is not checked
	}
	if check != nil {
		if err := check(d.Output); err != nil {
			return nil, fmt.Sprintf("its output schema is not valid JSON Schema (%s); results are not checked against it", err)
		}
	}
	return d.Output, ""
}

// object reads a JSON object. Its numbers stay as they are written.
func object(raw json.RawMessage) (map[string]any, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var root map[string]any
	return root, dec.Decode(&root) == nil && root != nil
}

// isObject reports whether a schema can describe an object.
func isObject(root map[string]any) bool {
	switch t := root["type"].(type) {
	case nil:
		return true
	case string:
		return t == "object" || foreignTypes[strings.ToLower(t)] == "object"
	case []any:
		return slices.Contains(t, any("object"))
	default:
		return true
	}
}

// foreignTypes are the names of types in other languages, and their names in
// JSON Schema; "" is any type.
var foreignTypes = map[string]string{
	"int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "uint": "integer",
	"float": "number", "float32": "number", "float64": "number", "double": "number", "decimal": "number",
	"str": "string", "text": "string", "date": "string", "datetime": "string", "file": "string", "uuid": "string",
	"bool": "boolean",
	"dict": "object", "map": "object", "struct": "object", "json": "object",
	"list": "array", "tuple": "array",
	"none": "null", "nil": "null",
	"any": "", "unknown": "", "mixed": "",
}

var types = set("object", "array", "string", "number", "integer", "boolean", "null")

// schemaFixer repairs a schema where it is plain what was meant.
type schemaFixer struct {
	root map[string]any
	done []string // what was repaired
}

func (f *schemaFixer) did(what string) {
	if !slices.Contains(f.done, what) {
		f.done = append(f.done, what)
	}
}

// schema repairs one schema and those inside it.
func (f *schemaFixer) schema(s map[string]any) {
	f.types(s)
	f.exclusives(s)
	f.required(s)
	f.values(s)
	for _, key := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		switch of := s[key].(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(of)) {
				if sub, ok := of[name].(map[string]any); ok {
					f.schema(sub)
				}
			}
		case nil, []any:
			if _, there := s[key]; there {
				delete(s, key)
				f.did(key + " that were not an object")
			}
		}
	}
	for _, key := range []string{
		"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else",
	} {
		if sub, ok := s[key].(map[string]any); ok {
			f.schema(sub)
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "prefixItems", "items"} {
		list, ok := s[key].([]any)
		for _, item := range list {
			if sub, ok := item.(map[string]any); ok {
				f.schema(sub)
			}
		}
		if ok && key == "items" { // a tuple, as it was written before 2020-12
			s["prefixItems"] = list
			delete(s, "items")
			f.did("items that were a list")
		}
	}
}

// types repairs the type of a schema.
func (f *schemaFixer) types(s map[string]any) {
	switch t := s["type"].(type) {
	case string:
		name, known := f.typeName(t)
		switch {
		case !known:
		case name == "":
			delete(s, "type")
		default:
			s["type"] = name
		}
	case []any:
		var list []any
		for _, item := range t {
			name, ok := item.(string)
			if ok {
				name, ok = f.typeName(name)
			}
			if ok && name == "" {
				delete(s, "type") // one of them is any type
				return
			}
			if !slices.Contains(list, any(name)) {
				list = append(list, name)
			}
		}
		s["type"] = list
	case nil:
		if _, there := s["type"]; there {
			delete(s, "type")
			f.did("a type that was null")
		}
	}
}

// typeName returns the name of a type in JSON Schema, or "" for any type.
func (f *schemaFixer) typeName(name string) (string, bool) {
	if types[name] {
		return name, true
	}
	low := strings.ToLower(name)
	if types[low] {
		f.did(fmt.Sprintf("the type %q", name))
		return low, true
	}
	meant, ok := foreignTypes[low]
	if ok {
		f.did(fmt.Sprintf("the type %q", name))
	}
	return meant, ok
}

// exclusives turns the flags of draft 4 into the limits of later drafts.
func (f *schemaFixer) exclusives(s map[string]any) {
	for flag, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		set, ok := s[flag].(bool)
		if !ok {
			continue
		}
		delete(s, flag)
		if value, there := s[limit]; set && there {
			s[flag] = value
			delete(s, limit)
		}
		f.did(flag + " that was true or false")
	}
}

// required moves the flag of draft 3 from a property to its object, and removes
// items that are not names.
func (f *schemaFixer) required(s map[string]any) {
	var list []any
	switch r := s["required"].(type) {
	case []any:
		for _, item := range r {
			if name, ok := item.(string); ok && !slices.Contains(list, any(name)) {
				list = append(list, name)
			}
		}
		if len(list) != len(r) {
			f.did("required that held more than names")
		}
	case nil:
	case string:
		list = append(list, r)
		f.did("required that was not a list")
	default:
		f.did("required that was not a list")
	}
	props, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		prop, _ := props[name].(map[string]any)
		flag, ok := prop["required"].(bool)
		if !ok {
			continue
		}
		delete(prop, "required")
		f.did("required that was true or false")
		if flag && !slices.Contains(list, any(name)) {
			list = append(list, name)
		}
	}
	if len(list) > 0 {
		s["required"] = list
	} else {
		delete(s, "required")
	}
}

// values repairs the enum, the texts and the reference of a schema.
func (f *schemaFixer) values(s map[string]any) {
	if list, ok := s["enum"].([]any); ok {
		seen := make(map[string]bool, len(list))
		kept := slices.DeleteFunc(slices.Clone(list), func(v any) bool {
			key := string(encode(v))
			twice := seen[key]
			seen[key] = true
			return twice
		})
		if len(kept) != len(list) {
			s["enum"] = kept
			f.did("an enum that held a value twice")
		}
		if len(kept) == 0 {
			delete(s, "enum")
			f.did("an enum that was empty")
		}
	}
	for _, key := range []string{"description", "title"} {
		value, there := s[key]
		if _, ok := value.(string); there && !ok {
			delete(s, key)
			f.did("a " + key + " that was not a text")
		}
	}
	if ref, ok := s["$ref"].(string); ok && strings.HasPrefix(ref, "#/") && !f.resolves(ref) {
		delete(s, "$ref")
		f.did("a $ref that leads nowhere")
	}
}

// resolves reports whether a pointer into the schema finds something.
func (f *schemaFixer) resolves(ref string) bool {
	var at any = f.root
	for _, part := range strings.Split(ref, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		here, ok := at.(map[string]any)
		if !ok {
			return true // a list, or another kind of escape: not checked
		}
		if at, ok = here[part]; !ok {
			return false
		}
	}
	return true
}

// isWrapped reports whether the properties of a schema are a whole schema: some
// servers wrap theirs once too often.
func isWrapped(properties map[string]any) bool {
	_, inner := properties["properties"].(map[string]any)
	return inner && properties["type"] == "object"
}
