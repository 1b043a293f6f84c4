// Package inputschema turns the schemas of an OpenAPI document into the input schemas of tools, which
// are JSON Schema 2020-12.
package inputschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"callgate/tool"
)

// Schemas converts the schemas of one document. It is for one goroutine.
//
// A schema that is referred to becomes a definition of the tool that uses it, once, so that
// recursive schemas stay finite. One that is used at a single place is written there.
type Schemas struct {
	raw   map[string]any
	known map[string]converted // by reference
	cuts  map[cutKey]sized
	large large
	work  int // about how many bytes of schemas were gone through
}

// converted is a schema that a reference names.
type converted struct {
	value any
	refs  []string // the references in it, in order, with repetitions
	size  int      // of it in JSON, about
	bare  int      // the same without descriptions and examples
}

// New converts the schemas of a document, which is given as plain JSON.
func New(document map[string]any) *Schemas {
	return &Schemas{raw: document, known: map[string]converted{}, cuts: map[cutKey]sized{}, large: newLarge()}
}

// conversion is the conversion of one schema.
type conversion struct {
	*Schemas
	refs []string
}

// MaxBytes bounds one input schema.
const MaxBytes = 16 << 10

const (
	maxText  = 1000 // of a description in a schema
	maxDepth = 200  // of nested schemas
)

// copied are the keywords that mean the same in both, and hold no schemas.
var copied = []string{
	"type", "format", "enum", "const", "default", "minimum", "maximum", "multipleOf", "minLength", "maxLength",
	"minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "minContains", "maxContains",
	"dependentRequired", "deprecated",
}

// The keywords that hold schemas: one, a list, or some by name.
var (
	holdOne   = []string{"items", "contains", "not", "if", "then", "else", "propertyNames", "additionalProperties"}
	holdList  = []string{"oneOf", "anyOf", "allOf", "prefixItems"}
	holdNamed = []string{"patternProperties", "dependentSchemas"}
)

func (c *conversion) schema(v any, depth int) any {
	m, ok := v.(map[string]any)
	if !ok || depth > maxDepth {
		if b, isBool := v.(bool); isBool {
			return b
		}
		return map[string]any{}
	}
	if ref, ok := m["$ref"].(string); ok {
		return c.reference(ref, m)
	}
	out := map[string]any{}
	for _, key := range copied {
		if value, ok := m[key]; ok {
			out[key] = value
		}
	}
	if text, ok := m["description"].(string); ok && strings.TrimSpace(text) != "" {
		out["description"] = tool.TruncateTo(strings.TrimSpace(text), maxText)
	}
	for _, key := range holdOne {
		if value, ok := m[key]; ok {
			out[key] = c.schema(value, depth+1)
		}
	}
	for _, key := range holdList {
		if list, ok := m[key].([]any); ok {
			all := make([]any, len(list))
			for i, one := range list {
				all[i] = c.schema(one, depth+1)
			}
			out[key] = all
		}
	}
	for _, key := range holdNamed {
		if named, ok := m[key].(map[string]any); ok {
			all := map[string]any{}
			for _, name := range slices.Sorted(maps.Keys(named)) {
				if _, err := regexp.Compile(name); err == nil || key != "patternProperties" {
					all[name] = c.schema(named[name], depth+1)
				}
			}
			out[key] = all
		}
	}
	c.properties(m, out, depth)
	c.adapt(m, out)
	return out
}

// properties converts the properties of an object without those that only answers have.
func (c *conversion) properties(m, out map[string]any, depth int) {
	dropped := map[string]bool{}
	if named, ok := m["properties"].(map[string]any); ok {
		all := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			if p, ok := named[name].(map[string]any); ok && p["readOnly"] == true {
				dropped[name] = true
				continue
			}
			all[name] = c.schema(named[name], depth+1)
		}
		out["properties"] = all
	}
	if list, ok := m["required"].([]any); ok {
		var required []any
		for _, name := range list {
			if text, ok := name.(string); ok && !dropped[text] {
				required = append(required, text)
			}
		}
		if len(required) > 0 {
			out["required"] = required
		}
	}
}

// adapt changes what OpenAPI says in other words than JSON Schema.
func (c *conversion) adapt(m, out map[string]any) {
	for _, bound := range []struct{ plain, exclusive string }{
		{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"},
	} {
		switch v := m[bound.exclusive].(type) {
		case nil:
		case bool:
			if limit, ok := out[bound.plain]; ok && v {
				out[bound.exclusive] = limit
				delete(out, bound.plain)
			}
		default:
			out[bound.exclusive] = v
		}
	}
	if pattern, ok := m["pattern"].(string); ok {
		if _, err := regexp.Compile(pattern); err == nil { // another dialect is not checked here
			out["pattern"] = pattern
		}
	}
	if m["nullable"] == true {
		makeNullable(out)
	}
	if example, ok := m["example"]; ok && len(fmt.Sprint(example)) <= 200 {
		out["examples"] = []any{example}
	} else if list, ok := m["examples"].([]any); ok && len(fmt.Sprint(list)) <= 400 {
		out["examples"] = list
	}
	if out["type"] == "file" { // of Swagger 2
		out["type"] = "string"
	}
}

func makeNullable(out map[string]any) {
	if kind, ok := out["type"].(string); ok {
		out["type"] = []any{kind, "null"}
	}
	if list, ok := out["enum"].([]any); ok && !slices.Contains(list, nil) {
		out["enum"] = append(slices.Clone(list), nil)
	}
}

// reference converts a reference, and keeps what stands beside it.
func (c *conversion) reference(ref string, m map[string]any) any {
	c.refs = append(c.refs, ref)
	out := map[string]any{"$ref": ref}
	if text, ok := m["description"].(string); ok && text != "" {
		out["description"] = tool.TruncateTo(text, maxText)
	}
	return out
}

// named returns the schema that a reference names.
func (s *Schemas) named(ref string) converted {
	if known, ok := s.known[ref]; ok {
		return known
	}
	c := &conversion{Schemas: s}
	value := c.schema(s.lookup(ref), 0)
	s.known[ref] = converted{value, c.refs, sizeOf(value), sizeOf(withoutTexts(value, 3))}
	return s.known[ref]
}

// lookup finds what a reference names in the document; nil: nothing.
func (s *Schemas) lookup(ref string) any {
	if m, ok := s.large.byRef[ref]; ok {
		return m
	}
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	var at any = s.raw
	for part := range strings.SplitSeq(path, "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch v := at.(type) {
		case map[string]any:
			at = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// Resolved returns a schema of the document without references at its top.
func (s *Schemas) Resolved(v any) map[string]any {
	for range 20 {
		m, _ := v.(map[string]any)
		ref, ok := m["$ref"].(string)
		if !ok {
			return m
		}
		v = s.lookup(ref)
	}
	return nil
}

// Object makes an input schema of properties, which are schemas of the document, and
// keeps it within its limit: by leaving out descriptions first, and then what is deep. Shortened
// reports that it did.
func (s *Schemas) Object(properties map[string]any, required []string) (_ json.RawMessage, shortened bool) {
	c := &conversion{Schemas: s}
	converted := make(map[string]any, len(properties))
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		converted[name] = c.schema(properties[name], 0)
	}
	root := map[string]any{"type": "object", "properties": converted, "additionalProperties": false}
	if len(required) > 0 {
		root["required"] = required
	}
	uses := s.closure(c.refs)
	size, bare := sizeOf(root), sizeOf(withoutTexts(root, 0))
	own := size
	s.work += own
	for ref := range uses {
		size, bare = size+s.named(ref).size, bare+s.named(ref).bare
	}
	if size <= MaxBytes {
		if data, ok := fits(s.withDefinitions(root, uses)); ok {
			return data, false
		}
	}
	if bare <= MaxBytes {
		if data, ok := fits(withoutTexts(s.withDefinitions(root, uses), 0)); ok {
			return data, true
		}
	}
	for depth := 12; depth > 2; depth-- {
		s.work += own
		if cut := s.cut(root, depth); cut.size <= MaxBytes {
			if data, ok := fits(cut.value); ok {
				return data, true
			}
		}
	}
	return json.RawMessage(`{"type":"object"}`), true
}

func fits(v any) (json.RawMessage, bool) {
	data, err := json.Marshal(v)
	return data, err == nil && len(data) <= MaxBytes
}

// closure counts how often each schema is referred to by some references and what they name.
func (s *Schemas) closure(refs []string) map[string]int {
	uses := map[string]int{}
	queue := slices.Clone(refs)
	for len(queue) > 0 {
		ref := queue[0]
		queue = queue[1:]
		s.work += stepWork
		if uses[ref]++; uses[ref] == 1 {
			queue = append(queue, s.named(ref).refs...)
		}
	}
	return uses
}

// withDefinitions adds what the references of a schema name.
func (s *Schemas) withDefinitions(root map[string]any, uses map[string]int) map[string]any {
	names := definitionNames(slices.Sorted(maps.Keys(uses)))
	rename := renamer(func(ref string) (inline any, name string) {
		if uses[ref] == 1 { // so it is no part of itself
			return s.named(ref).value, ""
		}
		return nil, names[ref]
	})
	out := rewritten(root, rename).(map[string]any)
	definitions := map[string]any{}
	for ref, n := range uses {
		if n > 1 {
			definitions[names[ref]] = rewritten(s.named(ref).value, rename)
		}
	}
	if len(definitions) > 0 {
		out["$defs"] = definitions
	}
	return out
}

// definitionNames gives each reference a name of its own: the last word of it.
func definitionNames(refs []string) map[string]string {
	names, taken := map[string]string{}, map[string]bool{}
	for _, ref := range refs {
		name := odd.ReplaceAllString(ref[strings.LastIndex(ref, "/")+1:], "_")
		for i := 2; name == "" || taken[name]; i++ {
			name = fmt.Sprintf("%s_%d", strings.TrimRight(name, "_0123456789"), i)
		}
		names[ref], taken[name] = name, true
	}
	return names
}

var odd = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// rewritten copies a schema, and puts other references or whole schemas in the place of
// references.
func rewritten(v any, rename renamer) any {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			inline, name := rename(ref)
			if name != "" {
				out := maps.Clone(v)
				out["$ref"] = "#/$defs/" + name
				return out
			}
			whole := rewritten(inline, rename)
			if m, ok := whole.(map[string]any); ok && v["description"] != nil {
				m["description"] = v["description"]
			}
			return whole
		}
		out := make(map[string]any, len(v))
		for key, one := range v {
			named, isNamed := one.(map[string]any)
			switch {
			case isData(key):
				out[key] = one
			case isNamed && holdsNames(key):
				all := make(map[string]any, len(named))
				for name, schema := range named {
					all[name] = rewritten(schema, rename)
				}
				out[key] = all
			default:
				out[key] = rewritten(one, rename)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = rewritten(one, rename)
		}
		return out
	}
	return v
}

// renamer says what stands in the place of a reference: a schema, or a definition by name.
type renamer func(ref string) (inline any, name string)
