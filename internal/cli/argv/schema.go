// Package argv turns a command line into a tool's arguments, and a tool's
// arguments into a command line.
//
// # The form of a flag
//
// Every property of the tool's input schema is a flag. Its name may be written
// as the schema has it, or with other separators or case: --max-results is
// max_results and maxResults.
//
//	--path README.md    --path=README.md     a value
//	--recursive         --recursive=false    a boolean; --no-recursive too
//	--tag a --tag b     --tag '["a","b"]'    a list: repeated, or as JSON
//	--headers '{"A":1}'                      an object: as JSON
//	--content -                              a string: all of standard input
//	--args '{…}'  --args @file  --args -     all of them; flags override its fields
//
// The value of a parameter that is a string stays as it is written. Any other
// is parsed as JSON when it is JSON, and else left as text: the kernel coerces
// what is safe and reports the rest. This package checks the form of a command
// line, and never whether a value is valid.
package argv

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"callgate/tool"
)

// Param is one parameter of a tool, as a command line sees it.
type Param struct {
	Name        string
	Types       []string // JSON types; none: anything
	Items       []string // JSON types of a list's elements
	Enum        []json.RawMessage
	Required    bool
	Default     json.RawMessage
	Description string
}

// Flag is the parameter's name as a flag: with hyphens, without the dashes.
func (p Param) Flag() string { return strings.ReplaceAll(p.Name, "_", "-") }

// Type describes in a word or two what the parameter takes.
func (p Param) Type() string {
	if len(p.Enum) > 0 {
		values := make([]string, len(p.Enum))
		for i, v := range p.Enum {
			values[i] = strings.Trim(string(v), `"`)
		}
		return strings.Join(values, "|")
	}
	kinds := slices.DeleteFunc(slices.Clone(p.Types), func(t string) bool { return t == "null" })
	if len(kinds) == 0 {
		return "any"
	}
	name := strings.Join(kinds, "|")
	if p.is("array") && len(p.Items) > 0 {
		name = strings.Replace(name, "array", "list of "+strings.Join(p.Items, "|"), 1)
	}
	return name
}

// is reports whether t is the only type of the parameter, null aside.
func (p Param) is(t string) bool {
	found := false
	for _, own := range p.Types {
		if own != t && own != "null" {
			return false
		}
		found = found || own == t
	}
	return found
}

func (p Param) may(t string) bool { return len(p.Types) == 0 || slices.Contains(p.Types, t) }

// Params reads the parameters out of an input schema: the required ones first,
// then as the schema has them.
func Params(schema json.RawMessage) ([]Param, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var root struct {
		Defs        map[string]json.RawMessage `json:"$defs"`
		Definitions map[string]json.RawMessage `json:"definitions"`
	}
	r := &resolver{left: maxNodes}
	if text := string(bytes.TrimSpace(schema)); text != "true" && text != "false" {
		if err := json.Unmarshal(schema, &root); err != nil {
			return nil, unreadable(err)
		}
	}
	r.defs, r.definitions = root.Defs, root.Definitions
	top := r.node(schema)
	props, err := ordered(top.Properties)
	if err != nil {
		return nil, unreadable(err)
	}
	var params []Param
	for _, prop := range props {
		n := r.node(prop.schema)
		p := Param{
			Name: prop.name, Types: r.types(n, 0), Enum: n.Enum, Default: n.Default,
			Required: slices.Contains(top.Required, prop.name), Description: n.Description,
		}
		if len(n.Items) > 0 {
			p.Items = r.types(r.node(n.Items), 0)
		}
		params = append(params, p)
	}
	slices.SortStableFunc(params, func(a, b Param) int { return cmp.Compare(rank(a), rank(b)) })
	return params, nil
}

func unreadable(err error) error {
	return &tool.Error{Op: "argv.Params", Kind: tool.Invalid, Err: err,
		Message: "the tool's input schema cannot be read"}
}

func rank(p Param) int {
	if p.Required {
		return 0
	}
	return 1
}

// node is one schema. Its subschemas are parsed when they are needed, so that a
// deep schema costs no more than a flat one.
type node struct {
	Ref         string            `json:"$ref"`
	Type        typeNames         `json:"type"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
	Items       json.RawMessage   `json:"items"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Default     json.RawMessage   `json:"default"`
	Description string            `json:"description"`
	AnyOf       []json.RawMessage `json:"anyOf"`
	OneOf       []json.RawMessage `json:"oneOf"`
}

// typeNames is one type or a list of them.
type typeNames []string

func (t *typeNames) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = typeNames{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

type property struct {
	name   string
	schema json.RawMessage
}

// ordered parses properties in the order of the schema.
func ordered(data json.RawMessage) ([]property, error) {
	if typeOf(data) != "object" {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var list []property
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		p := property{name: key.(string)}
		if err := dec.Decode(&p.schema); err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(list, func(q property) bool { return q.name == p.name }); i >= 0 {
			list[i] = p // of two, the last counts
			continue
		}
		list = append(list, p)
	}
	return list, nil
}

// resolver parses the nodes of one schema and follows its references.
type resolver struct {
	defs, definitions map[string]json.RawMessage
	left              int
}

// maxNodes bounds what is parsed of a circular schema; what lies beyond admits
// anything.
const maxNodes = 2000

// node parses a schema. A reference is followed; a description beside it is kept.
// The schemas true and false, and any other value, give an empty node.
func (r *resolver) node(schema json.RawMessage) node {
	var n node
	description := ""
	for r.left > 0 {
		r.left--
		n = node{}
		if typeOf(schema) != "object" || json.Unmarshal(schema, &n) != nil {
			n = node{}
		}
		description = cmp.Or(description, n.Description)
		n.Description = description
		if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok && r.defs[name] != nil {
			schema = r.defs[name]
		} else if name, ok := strings.CutPrefix(n.Ref, "#/definitions/"); ok && r.definitions[name] != nil {
			schema = r.definitions[name]
		} else {
			break
		}
	}
	return n
}

// types collects the JSON types that a schema admits.
func (r *resolver) types(n node, depth int) []string {
	const maxDepth = 8
	if len(n.Type) > 0 || depth > maxDepth {
		return n.Type
	}
	var found []string
	add := func(types ...string) {
		for _, t := range types {
			if t != "" && !slices.Contains(found, t) {
				found = append(found, t)
			}
		}
	}
	for _, alternative := range slices.Concat(n.AnyOf, n.OneOf) {
		add(r.types(r.node(alternative), depth+1)...)
	}
	for _, v := range n.Enum {
		add(typeOf(v))
	}
	add(typeOf(n.Const))
	switch {
	case len(found) > 0:
	case len(n.Properties) > 0:
		add("object")
	case len(n.Items) > 0:
		add("array")
	}
	return found
}

// typeOf is the JSON type of a value; "" for no value.
func typeOf(v json.RawMessage) string {
	v = bytes.TrimSpace(v)
	if len(v) == 0 {
		return ""
	}
	switch v[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		return "number"
	}
}
