package surface

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"callgate/tool"
)

// pruner writes a schema in the form that a model sees:
//
//   - compact, in the author's order, and always of type object;
//   - without hidden parameters, and without what would require or point to one:
//     a name in required, a branch about nothing else, a $ref into its schema;
//   - without titles that only repeat a name.
//
// Calls are still checked against the published schema, so the accepted arguments
// do not change.
type pruner struct {
	jsonDocument
	out      []byte
	hides    bool // whether a parameter in this schema may be hidden
	toolName string
}

// Schema returns a tool's input schema in the form that a model sees. Parameters
// marked hidden are left out, but still accepted.
func Schema(t *tool.Tool) json.RawMessage {
	return new(pruner).shown(t.Spec.Input, t.ID.Name)
}

// shown returns the pruned schema of a tool. A schema that is not a JSON object is
// shown as an open object.
func (p *pruner) shown(input []byte, toolName string) json.RawMessage {
	if !p.read(input) || p.nodes[0].kind != '{' {
		return json.RawMessage(openObject)
	}
	p.out, p.toolName = p.out[:0], toolName
	p.hides = bytes.Contains(input, []byte(hiddenMark)) || bytes.Contains(input, []byte(`\u`))
	p.root()
	if !utf8.Valid(p.out) {
		p.out = bytes.ToValidUTF8(p.out, []byte("\uFFFD"))
	}
	if bytes.Equal(p.out, input) {
		return input // most are; this saves a copy
	}
	return bytes.Clone(p.out)
}

// compact returns a JSON value without spaces between its parts.
func (p *pruner) compact(text []byte) ([]byte, bool) {
	if !p.read(text) {
		return nil, false
	}
	p.out = p.out[:0]
	p.data(0)
	return bytes.ToValidUTF8(p.out, []byte("\uFFFD")), true
}

// root writes the whole schema, with type object whatever its own type says.
func (p *pruner) root() {
	kind := p.member(0, "type")
	typed := kind >= 0 && string(p.raw(kind)) == `"object"`
	p.out = append(p.out, '{')
	if !typed {
		p.out = append(p.out, `"type":"object"`...)
	}
	p.body(0, "", p.hidden(0, nil), func(key []byte, v int) bool {
		return string(key) == "type" && !typed || string(key) == "title" && p.titlesTool(v)
	})
	p.out = append(p.out, '}')
}

// titlesTool reports whether a title is only the tool's name, perhaps with a suffix
// that generators append.
func (p *pruner) titlesTool(v int) bool {
	if p.nodes[v].kind != '"' {
		return false
	}
	title := p.str(v)
	for _, suffix := range [...]string{"", "arguments", "args", "input", "params", "parameters", "schema"} {
		n := len(title) - len(suffix)
		if n > 0 && repeats(title[n:], suffix) && repeats(title[:n], p.toolName) {
			return true
		}
	}
	return false
}

// data writes a value unchanged.
func (p *pruner) data(i int) {
	switch n := p.nodes[i]; n.kind {
	case '{':
		p.out = append(p.out, '{')
		for k, v := range p.members(i) {
			p.key(k)
			p.data(v)
		}
		p.out = append(p.out, '}')
	case '[':
		p.out = append(p.out, '[')
		for v := range p.elements(i) {
			p.comma()
			p.data(v)
		}
		p.out = append(p.out, ']')
	default:
		p.out = append(p.out, p.src[n.start:n.end]...)
	}
}

// comma writes a separator, except before the first element.
func (p *pruner) comma() {
	if c := p.out[len(p.out)-1]; c != '{' && c != '[' {
		p.out = append(p.out, ',')
	}
}

// key writes the key of a member.
func (p *pruner) key(k int) {
	p.comma()
	p.out = append(append(p.out, p.raw(k)...), ':')
}

// schema writes a subschema. name is its property name, if it has one; hidden lists
// the hidden parameters of the object it describes.
func (p *pruner) schema(i int, name string, hidden []string) {
	if p.nodes[i].kind != '{' {
		p.data(i)
		return
	}
	p.out = append(p.out, '{')
	p.body(i, name, hidden, nil)
	p.out = append(p.out, '}')
}

// fresh writes a subschema of another value in the arguments, which has hidden
// parameters of its own.
func (p *pruner) fresh(i int, name string) { p.schema(i, name, p.hidden(i, nil)) }

// body writes the members of a schema, except those that skip selects.
func (p *pruner) body(i int, name string, hidden []string, skip func(key []byte, v int) bool) {
	for k, v := range p.members(i) {
		key := p.str(k)
		if skip != nil && skip(key, v) {
			continue
		}
		mark := len(p.out)
		p.key(k)
		if !p.keyword(key, v, name, hidden) {
			p.out = p.out[:mark]
		}
	}
}

// keyword writes the value of one keyword, and reports whether the keyword stays.
func (p *pruner) keyword(key []byte, v int, name string, hidden []string) bool {
	switch string(key) {
	case hiddenMark:
		return false
	case "title":
		if p.nodes[v].kind == '"' && name != "" && repeats(p.str(v), name) {
			return false
		}
		p.data(v)
	case "properties":
		p.named(v, hidden)
	case "$defs", "definitions":
		p.named(v, nil)
	case "required":
		return p.without(v, hidden)
	case "dependentRequired", "dependentSchemas", "dependencies":
		return p.dependencies(v, hidden)
	case "allOf", "anyOf", "oneOf", "not", "if", "then", "else":
		return p.inPlace(v, hidden)
	case "items", "prefixItems", "additionalItems", "contains", "additionalProperties", "patternProperties",
		"propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema":
		p.elsewhere(string(key), v)
	case "$ref":
		if p.hides && p.nodes[v].kind == '"' && p.leadsToHidden(string(p.str(v))) {
			return false
		}
		p.data(v)
	default:
		p.data(v)
	}
	return true
}

// repeats reports whether a title only repeats a name: the same letters, regardless
// of case and separators.
func repeats(title []byte, name string) bool {
	i, j := 0, 0
	for {
		for i < len(title) && separates(title[i]) {
			i++
		}
		for j < len(name) && separates(name[j]) {
			j++
		}
		if i == len(title) || j == len(name) {
			return i == len(title) && j == len(name)
		}
		a, b := title[i], name[j]
		if a != b && (a|0x20 != b|0x20 || a|0x20 < 'a' || a|0x20 > 'z') {
			return false
		}
		i, j = i+1, j+1
	}
}

func separates(c byte) bool { return c == '_' || c == '-' || c == ' ' || c == '.' }

// named writes a map from names to schemas, without the hidden ones.
func (p *pruner) named(i int, hidden []string) {
	if p.nodes[i].kind != '{' {
		p.data(i)
		return
	}
	p.out = append(p.out, '{')
	for k, v := range p.members(i) {
		name := string(p.str(k))
		if slices.Contains(hidden, name) {
			continue
		}
		p.key(k)
		p.fresh(v, name)
	}
	p.out = append(p.out, '}')
}

// without writes a list of names without the hidden ones, and reports whether it is
// still useful.
func (p *pruner) without(i int, hidden []string) bool {
	if len(hidden) == 0 || p.nodes[i].kind != '[' {
		p.data(i)
		return true
	}
	left, dropped := 0, 0
	p.out = append(p.out, '[')
	for v := range p.elements(i) {
		if p.nodes[v].kind == '"' && slices.Contains(hidden, string(p.str(v))) {
			dropped++
			continue
		}
		p.comma()
		p.data(v)
		left++
	}
	p.out = append(p.out, ']')
	return left > 0 || dropped == 0
}

// dependencies writes what the presence of a parameter requires.
func (p *pruner) dependencies(i int, hidden []string) bool {
	if p.nodes[i].kind != '{' {
		p.data(i)
		return true
	}
	start := len(p.out)
	p.out = append(p.out, '{')
	for k, v := range p.members(i) {
		if slices.Contains(hidden, string(p.str(k))) {
			continue
		}
		mark := len(p.out)
		p.key(k)
		keep := true
		if p.nodes[v].kind == '[' {
			keep = p.without(v, hidden)
		} else {
			keep = p.inPlace(v, hidden)
		}
		if !keep {
			p.out = p.out[:mark]
		}
	}
	p.out = append(p.out, '}')
	return !p.emptied(start, i)
}

// inPlace writes a schema, or a list of schemas, that applies to the same object as
// the schema around it. A branch that is only about hidden parameters is dropped:
// an empty branch would accept anything, and an empty "not" nothing.
func (p *pruner) inPlace(i int, hidden []string) bool {
	start := len(p.out)
	if p.nodes[i].kind != '[' {
		p.schema(i, "", hidden)
		return !p.emptied(start, i)
	}
	p.out = append(p.out, '[')
	for v := range p.elements(i) {
		mark := len(p.out)
		p.comma()
		branch := len(p.out)
		p.schema(v, "", hidden)
		if p.emptied(branch, v) {
			p.out = p.out[:mark]
		}
	}
	p.out = append(p.out, ']')
	return !p.emptied(start, i)
}

// emptied reports whether the container written from start on is empty, although the
// author's was not.
func (p *pruner) emptied(start, i int) bool {
	isContainer := p.nodes[i].kind == '{' || p.nodes[i].kind == '['
	return len(p.out)-start == len("{}") && isContainer && int(p.nodes[i].next) > i+1
}

// elsewhere writes a schema, a list of schemas, or schemas under patterns, that
// apply to other values in the arguments.
func (p *pruner) elsewhere(keyword string, i int) {
	switch {
	case keyword == "patternProperties" && p.nodes[i].kind == '{':
		p.out = append(p.out, '{')
		for k, v := range p.members(i) {
			p.key(k)
			p.fresh(v, "")
		}
		p.out = append(p.out, '}')
	case p.nodes[i].kind == '[':
		p.out = append(p.out, '[')
		for v := range p.elements(i) {
			p.comma()
			p.fresh(v, "")
		}
		p.out = append(p.out, ']')
	default:
		p.fresh(i, "")
	}
}
