package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/gate/schema/phrase"
	"callgate/internal/gate/schema/walk"
)

// maxSigned limits the parameters of a signature.
const maxSigned = 100

// Signature describes the parameters on one line, such as
// "path: str, offset?: int, lines?: list", or "(none)". Required parameters come
// first; each group keeps the order of the schema's text.
func (s *Schema) Signature() string { return s.signature() }

// Param is a parameter in a signature.
type Param struct {
	Name     string
	Type     string // a short name, or several with | between
	Required bool
}

// Params returns the parameters in the order of the signature.
func (s *Schema) Params() []Param {
	required := map[string]bool{}
	var all []Param
	for _, sub := range walk.Reachable(s.root, walk.Unconditional) {
		for _, name := range sub.Required {
			required[name] = true
		}
	}
	for _, sub := range walk.Reachable(s.root, walk.SameValue) {
		for _, name := range s.inOrder(sub) {
			if !slices.ContainsFunc(all, func(p Param) bool { return p.Name == name }) {
				all = append(all, Param{name, shortType(sub.Properties[name]), required[name]})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Param) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		default:
			return 1
		}
	})
	return all
}

func (s *Schema) sign() string {
	var all []string
	for _, p := range s.Params() {
		mark := "?: "
		if p.Required {
			mark = ": "
		}
		all = append(all, phrase.Truncate(p.Name, phrase.MaxGot)+mark+p.Type)
	}
	if len(all) == 0 {
		return "(none)"
	}
	return phrase.List(all, maxSigned)
}

// inOrder returns the property names of a subschema in the order of the schema's
// text, or sorted if that order cannot be found.
func (s *Schema) inOrder(sub *jsonschema.Schema) []string {
	if len(sub.Properties) == 0 {
		return nil
	}
	text := s.raw
	for _, token := range append(pointer(sub.Location), "properties") {
		var object map[string]json.RawMessage
		if json.Unmarshal(text, &object) == nil {
			text = object[token]
			continue
		}
		var list []json.RawMessage
		_ = json.Unmarshal(text, &list)
		text = nil
		if i, err := strconv.Atoi(token); err == nil && 0 <= i && i < len(list) {
			text = list[i]
		}
	}
	names := keys(text)
	names = slices.DeleteFunc(names, func(name string) bool { return sub.Properties[name] == nil })
	if len(names) != len(sub.Properties) {
		return slices.Sorted(maps.Keys(sub.Properties))
	}
	return names
}

// keys returns the names of an object in the order of its text.
func keys(object json.RawMessage) []string {
	var names []string
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		var skipped json.RawMessage
		if err != nil || !ok || dec.Decode(&skipped) != nil {
			return nil
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func unescape(token string) string {
	if plain, err := url.PathUnescape(token); err == nil {
		return plain
	}
	return token
}

// shortType returns the short type name of a property.
func shortType(s *jsonschema.Schema) string {
	var all []string
	add := func(word string) {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	for _, sub := range walk.Reachable(s, walk.SameValue) {
		switch {
		case sub.Types != nil:
			for _, t := range sub.Types.ToStrings() {
				if t != "null" {
					add(shortName(t))
				}
			}
		case sub.Const != nil:
			add(shortName(phrase.TypeName(*sub.Const)))
		case sub.Enum != nil:
			for _, v := range sub.Enum.Values {
				add(shortName(phrase.TypeName(v)))
			}
		}
	}
	if len(all) == 0 || len(all) > 3 {
		return "any"
	}
	return strings.Join(all, "|")
}

func shortName(t string) string {
	switch t {
	case "string":
		return "str"
	case "integer":
		return "int"
	case "number":
		return "float"
	case "boolean":
		return "bool"
	case "array":
		return "list"
	case "object":
		return "dict"
	default:
		return t
	}
}
