package translate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Check judges a schema. A nil Check takes any object for one.
type Check func(json.RawMessage) error

// openSchema is the schema of a tool whose own cannot be used.
var openSchema = json.RawMessage(`{"type":"object"}`)

// InputSchema is the schema that a tool's arguments must meet. One that is
// valid is kept as it is. One that is not is mended where it is plain what was
// meant, and else replaced by one that takes any object; the note then says
// so.
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
		root["type"] = "object" // arguments always are one
		return encode(root), ""
	}
	m := schemaFixer{root: root}
	if inner, ok := root["properties"].(map[string]any); ok && wrapped(inner) {
		root = inner
		m = schemaFixer{root, []string{"a schema inside its own properties"}}
	}
	m.schema(root)
	root["type"] = "object"
	if mended := encode(root); check(mended) == nil {
		return mended, "its input schema was mended: " + strings.Join(m.done, ", ")
	}
	return openSchema, fmt.Sprintf("its input schema is not valid JSON Schema (%s); any object is taken", err)
}

// OutputSchema is the schema of a tool's result, when it has one that is valid
// and describes an object.
func (d Definition) OutputSchema(check Check) (schema json.RawMessage, note string) {
	root, ok := object(d.Output)
	if len(d.Output) == 0 || string(d.Output) == "null" {
		return nil, ""
	}
	if !ok || root["type"] != "object" {
		return nil, "" // a result of another shape is taken as it comes
	}
	if check != nil {
		if err := check(d.Output); err != nil {
			return nil, fmt.Sprintf("its output schema is not valid JSON Schema (%s); results are not held against it", err)
		}
	}
	return d.Output, ""
}

// object reads a JSON object, its numbers as they are written.
func object(raw json.RawMessage) (map[string]any, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var root map[string]any
	return root, dec.Decode(&root) == nil && root != nil
}

// isObject reports whether a schema can be one of an object.
func isObject(root map[string]any) bool {
	switch t := root["type"].(type) {
	case nil:
		return true
	case string:
		return t == "object" || foreign[strings.ToLower(t)] == "object"
	case []any:
		return slices.Contains(t, any("object"))
	default:
		return true
	}
}

// foreign are the names that other languages give to types.
var foreign = map[string]string{
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

// schemaFixer puts right what is plainly meant otherwise, and keeps what it did.
type schemaFixer struct {
	root map[string]any
	done []string
}

func (m *schemaFixer) did(what string) {
	if !slices.Contains(m.done, what) {
		m.done = append(m.done, what)
	}
}

// schema mends one schema and those inside it.
func (m *schemaFixer) schema(s map[string]any) {
	m.types(s)
	m.exclusives(s)
	m.required(s)
	m.values(s)
	for _, key := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		switch of := s[key].(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(of)) {
				if sub, ok := of[name].(map[string]any); ok {
					m.schema(sub)
				}
			}
		case nil, []any:
			if _, there := s[key]; there {
				delete(s, key)
				m.did(key + " that were not an object")
			}
		}
	}
	for _, key := range []string{"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"} {
		if sub, ok := s[key].(map[string]any); ok {
			m.schema(sub)
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "prefixItems", "items"} {
		list, ok := s[key].([]any)
		for _, item := range list {
			if sub, ok := item.(map[string]any); ok {
				m.schema(sub)
			}
		}
		if ok && key == "items" { // a tuple, as it was written before 2020-12
			s["prefixItems"] = list
			delete(s, "items")
			m.did("items that were a list")
		}
	}
}

// types mends the type of a schema.
func (m *schemaFixer) types(s map[string]any) {
	switch t := s["type"].(type) {
	case string:
		name, known := m.typeName(t)
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
				name, ok = m.typeName(name)
			}
			if ok && name == "" {
				delete(s, "type") // any of them is any
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
			m.did("a type that was null")
		}
	}
}

// typeName is what JSON Schema calls a type; it is "" for one that means any.
func (m *schemaFixer) typeName(name string) (string, bool) {
	if types[name] {
		return name, true
	}
	low := strings.ToLower(name)
	if types[low] {
		m.did(fmt.Sprintf("the type %q", name))
		return low, true
	}
	meant, ok := foreign[low]
	if ok {
		m.did(fmt.Sprintf("the type %q", name))
	}
	return meant, ok
}

// exclusives turns the flags of draft 4 into the limits of later ones.
func (m *schemaFixer) exclusives(s map[string]any) {
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
		m.did(flag + " that was true or false")
	}
}

// required moves the flag of draft 3 from a property to its object, and takes
// out what names nothing.
func (m *schemaFixer) required(s map[string]any) {
	var list []any
	switch r := s["required"].(type) {
	case []any:
		for _, item := range r {
			if name, ok := item.(string); ok && !slices.Contains(list, any(name)) {
				list = append(list, name)
			}
		}
		if len(list) != len(r) {
			m.did("required that held more than names")
		}
	case nil:
	case string:
		list = append(list, r)
		m.did("required that was not a list")
	default:
		m.did("required that was not a list")
	}
	props, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		prop, _ := props[name].(map[string]any)
		flag, ok := prop["required"].(bool)
		if !ok {
			continue
		}
		delete(prop, "required")
		m.did("required that was true or false")
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

// values mends what a schema lists, says and refers to.
func (m *schemaFixer) values(s map[string]any) {
	if list, ok := s["enum"].([]any); ok {
		seen := make(map[string]bool, len(list))
		kept := slices.DeleteFunc(slices.Clone(list), func(v any) bool {
			key := string(encode(v))
			double := seen[key]
			seen[key] = true
			return double
		})
		if len(kept) != len(list) {
			s["enum"] = kept
			m.did("an enum that held a value twice")
		}
		if len(kept) == 0 {
			delete(s, "enum")
			m.did("an enum that was empty")
		}
	}
	for _, key := range []string{"description", "title"} {
		value, there := s[key]
		if _, ok := value.(string); there && !ok {
			delete(s, key)
			m.did("a " + key + " that was no text")
		}
	}
	if ref, ok := s["$ref"].(string); ok && strings.HasPrefix(ref, "#/") && !m.leads(ref) {
		delete(s, "$ref")
		m.did("a $ref that leads nowhere")
	}
}

// leads reports whether a pointer into the schema finds something.
func (m *schemaFixer) leads(ref string) bool {
	var at any = m.root
	for _, part := range strings.Split(ref, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		here, ok := at.(map[string]any)
		if !ok {
			return true // a list, or an escape we do not read: let it be
		}
		if at, ok = here[part]; !ok {
			return false
		}
	}
	return true
}

// wrapped reports whether the properties of a schema are a whole schema: some
// servers wrap theirs once too often.
func wrapped(properties map[string]any) bool {
	_, inner := properties["properties"].(map[string]any)
	return inner && properties["type"] == "object"
}
