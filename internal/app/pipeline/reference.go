package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/app/node"
)

// roots are what references begin with.
var roots = []string{"input", "steps"}

// The parts of what a step gave.
const (
	Output = "output" // its value
	Text   = "text"   // in words
)

// Reference is what stands between {{ and }}: the input, or what a step gave, or a part.
type Reference struct {
	Step string // "": the input
	Part string // of a step: Output or Text
	Path []string
}

func (r Reference) String() string {
	path := []string{"input"}
	if r.Step != "" {
		path = []string{"steps", r.Step, r.Part}
	}
	return strings.Join(append(path, r.Path...), ".")
}

// ParseReference reads a reference.
func ParseReference(text string) (r Reference, err error) {
	parts := strings.Split(strings.TrimSpace(text), ".")
	if slices.Contains(parts, "") {
		return r, fmt.Errorf("%s is no reference", node.Quote(text))
	}
	switch {
	case parts[0] == "input":
		r.Path = parts[1:]
		return r, nil
	case parts[0] != "steps":
		return r, fmt.Errorf("%s is neither of input nor of steps", node.Quote(text))
	case len(parts) < 3 || parts[2] != Output && parts[2] != Text:
		return r, fmt.Errorf("%s says neither .output nor .text of a step", node.Quote(text))
	case parts[2] == Text && len(parts) > 3:
		return r, fmt.Errorf("%s is a part of a text", node.Quote(text))
	}
	return Reference{Step: parts[1], Part: parts[2], Path: parts[3:]}, nil
}

// maxRendered limits the texts that the references of one step are written into. One that is
// repeated multiplies what it stands for.
const maxRendered = 16 << 20

// Render puts values in the places of references. A text that is one reference becomes its
// value; within a text a value is written out, and all texts together have a limit.
func Render(v any, look func(Reference) (any, error)) (any, error) {
	r := &renderer{look: look, left: maxRendered}
	return r.render(v)
}

// renderer renders the values of one step.
type renderer struct {
	look func(Reference) (any, error)
	left int // bytes that may still be written
}

func (r *renderer) render(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return r.text(v)
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			var err error
			if list[i], err = r.render(one); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, one := range v {
			var err error
			if m[key], err = r.render(one); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return v, nil
}

func (r *renderer) text(text string) (any, error) {
	var b strings.Builder
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "{{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		inside, after, closed := strings.Cut(after, "}}")
		if !closed {
			return nil, fmt.Errorf("%s is not closed", node.Quote("{{"+inside))
		}
		rest = after
		if literal, err := strconv.Unquote(strings.TrimSpace(inside)); err == nil { // {{ "{{" }} is {{
			b.WriteString(literal)
			continue
		}
		ref, err := ParseReference(inside)
		if err != nil {
			return nil, err
		}
		value, err := r.look(ref)
		if err != nil {
			return nil, err
		}
		if before == "" && rest == "" && b.Len() == 0 {
			return value, nil
		}
		words := Words(value)
		if r.left -= len(words); r.left < 0 {
			return nil, fmt.Errorf("with the results of earlier steps filled in, the texts have more than %d MiB", maxRendered>>20)
		}
		b.WriteString(words)
	}
}

// Words is a value as a text: a text as it is, anything else as JSON.
func Words(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

// Find follows a path into a value: keys of objects, and places in lists.
func Find(value any, path []string) (any, error) {
	for i, key := range path {
		at := strings.Join(path[:i+1], ".")
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[key]
			if !ok {
				return nil, fmt.Errorf("there is no %s", node.Quote(at))
			}
			value = next
		case []any:
			n, err := strconv.Atoi(key)
			if err != nil || n < 0 || n >= len(v) {
				return nil, fmt.Errorf("there is no %s in a list of %d", node.Quote(at), len(v))
			}
			value = v[n]
		default:
			return nil, fmt.Errorf("%s is no part: what it would be of is no object and no list", node.Quote(at))
		}
	}
	return value, nil
}

// check returns why a reference can never be followed; nil: it may be.
func (r Reference) check(before []Step, input json.RawMessage) error {
	schema, of := input, "the input"
	if r.Step != "" {
		i := slices.IndexFunc(before, func(s Step) bool { return s.ID == r.Step })
		if i < 0 {
			return fmt.Errorf("{{%s}}: there is no earlier step %s", r, node.Quote(r.Step))
		}
		if before[i].Action != "" || r.Part == Text {
			return nil // what a tool gives is known when it does
		}
		schema, of = before[i].Output, "what the step "+r.Step+" gives"
	}
	if schema == nil {
		if len(r.Path) > 0 {
			return fmt.Errorf("{{%s}}: %s is a text, which has no parts, for it has no schema", r, of)
		}
		return nil
	}
	var s any
	if err := json.Unmarshal(schema, &s); err != nil {
		return err
	}
	for _, key := range r.Path {
		now, ok := s.(map[string]any)
		if !ok || now["$ref"] != nil || now["anyOf"] != nil || now["oneOf"] != nil || now["allOf"] != nil {
			return nil // only a value tells
		}
		properties, _ := now["properties"].(map[string]any)
		switch next, known := properties[key]; {
		case now["type"] == "array":
			if _, err := strconv.Atoi(key); err != nil {
				return fmt.Errorf("{{%s}}: %s is no place in a list", r, node.Quote(key))
			}
			s = now["items"]
		case known:
			s = next
		case now["type"] == "object" && len(properties) > 0 && now["additionalProperties"] == nil:
			return fmt.Errorf("{{%s}}: the schema of %s has no %s", r, of, node.Quote(key))
		case now["type"] == "object" || now["type"] == nil:
			return nil
		default:
			return fmt.Errorf("{{%s}}: %s is a part of a %v", r, node.Quote(key), now["type"])
		}
	}
	return nil
}
