package condition

import "encoding/json"

// maxSchemaDepth bounds how deep a schema is read; below it everything is any value.
const maxSchemaDepth = 16

// TypeOfSchema returns what a JSON schema says of a value. What it does not know (a
// reference, a choice) is any value, so that it refuses nothing that may be right.
func TypeOfSchema(schema json.RawMessage) Type {
	var s schemaNode
	if len(schema) == 0 || json.Unmarshal(schema, &s) != nil {
		return Type{}
	}
	return s.typeOf(0)
}

// schemaNode is the part of a schema that tells a type.
type schemaNode struct {
	Type       json.RawMessage            `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Additional json.RawMessage            `json:"additionalProperties"`
	Patterns   map[string]json.RawMessage `json:"patternProperties"`
	Items      json.RawMessage            `json:"items"`
}

func (s *schemaNode) typeOf(depth int) Type {
	if depth > maxSchemaDepth {
		return Type{}
	}
	below := func(raw json.RawMessage) Type {
		var n schemaNode
		if len(raw) == 0 || json.Unmarshal(raw, &n) != nil {
			return Type{}
		}
		return n.typeOf(depth + 1)
	}
	t := Type{Kind: s.kind()}
	switch t.Kind {
	case Map:
		t.Closed = string(s.Additional) == "false" && len(s.Patterns) == 0 && len(s.Properties) > 0
		t.Fields = make(map[string]Type, len(s.Properties))
		for name, raw := range s.Properties {
			t.Fields[name] = below(raw)
		}
	case List:
		elem := below(s.Items)
		t.Elem = &elem
	}
	return t
}

// kind reads one type, or one beside null.
func (s *schemaNode) kind() Kind {
	var names []string
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		names = []string{one}
	} else if json.Unmarshal(s.Type, &names) != nil {
		return Any
	}
	found := Any
	for _, name := range names {
		k, ok := schemaKinds(name)
		switch {
		case name == "null":
		case !ok, found != Any && found != k:
			return Any
		default:
			found = k
		}
	}
	return found
}

func schemaKinds(name string) (Kind, bool) {
	switch name {
	case "boolean":
		return Bool, true
	case "number", "integer":
		return Number, true
	case "string":
		return Text, true
	case "array":
		return List, true
	case "object":
		return Map, true
	}
	return Any, false
}
