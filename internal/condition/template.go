package condition

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"callgate/tool"
)

// Template is a JSON value with places in its texts, {{ expression }}, that are filled
// in when it is used. A text that is one place becomes the value itself, of whatever
// kind; among other text a value is written out, and null is nothing.
type Template struct {
	root  any // of what encoding/json decodes, with places for the texts that have some
	exprs int
}

// places is a text with places in it: texts[0], exprs[0], texts[1], …
type places struct {
	texts  []string
	exprs  []*node
	source []string
}

// CompileTemplate reads a template from a JSON value. "{{" that begins no place is
// written {{ "{{" }}.
func CompileTemplate(data json.RawMessage, env Env) (*Template, error) {
	t := &Template{}
	if len(bytes.TrimSpace(data)) == 0 {
		return t, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil && d.More() {
		err = errors.New("something follows the value")
	}
	if err != nil {
		return nil, tool.Errorf("condition.CompileTemplate", tool.Invalid, "the template is no JSON: %w", err)
	}
	if t.root, err = t.compile(v, "", env); err != nil {
		return nil, err
	}
	return t, nil
}

// CompileText reads a template of one text.
func CompileText(text string, env Env) (*Template, error) {
	t := &Template{}
	root, err := t.compile(text, "", env)
	if err != nil {
		return nil, err
	}
	t.root = root
	return t, nil
}

// Fixed reports whether the template has no places: it is the same whatever the
// values are.
func (t *Template) Fixed() bool { return t.exprs == 0 }

// compile replaces the texts that have places. at names where a text stands.
func (t *Template) compile(v any, at string, env Env) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		return t.text(v, at, env)
	case []any:
		for i := range v {
			if v[i], err = t.compile(v[i], at, env); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = t.compile(v[k], strings.TrimPrefix(at+"."+k, "."), env); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// text splits a text at its places.
func (t *Template) text(s, at string, env Env) (any, error) {
	before, rest, found := strings.Cut(s, "{{")
	if !found {
		return s, nil
	}
	p := &places{texts: []string{before}}
	for found {
		source, after, closed := cutPlace(rest)
		if !closed {
			return nil, within(at, fault(s, len(s)-len(rest), "a place begins here, and has no }}"))
		}
		n, err := compile(source, env)
		if err != nil {
			return nil, within(at, err)
		}
		before, rest, found = strings.Cut(after, "{{")
		p.texts, p.exprs, p.source = append(p.texts, before), append(p.exprs, n), append(p.source, source)
		t.exprs++
	}
	return p, nil
}

// cutPlace cuts an expression at the }} that ends its place. One in quotes does not.
func cutPlace(s string) (source, after string, ok bool) {
	for i := 0; i < len(s); {
		if strings.HasPrefix(s[i:], "}}") {
			return strings.TrimSpace(s[:i]), s[i+2:], true
		}
		i++
		if c := s[i-1]; c == '"' || c == '\'' {
			if t, err := readQuoted(s, i-1); err == nil {
				i = t.end
			}
		}
	}
	return "", "", false
}

// within says in which argument a place is wrong.
func within(at string, err error) error {
	e, ok := err.(*tool.Error)
	if !ok || at == "" {
		return err
	}
	e.Message = tool.Truncate(at) + ": " + e.Message
	return e
}

// Render fills the places in, and returns the JSON.
func (t *Template) Render(values map[string]any) (json.RawMessage, error) {
	v, err := render(t.root, values)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(v)
	if err == nil && len(data) > maxText {
		err = tooLarge()
	}
	return data, err
}

func tooLarge() error {
	return tool.Errorf("condition.Render", tool.Failed, "what the template became is larger than %d bytes", maxText)
}

// Text fills the places in, and returns the text: of a template that is no text, its
// JSON.
func (t *Template) Text(values map[string]any) (string, error) {
	v, err := render(t.root, values)
	if err != nil {
		return "", err
	}
	return write(v), nil
}

// TextWith is Text where show writes the value of each place, whose expression it is told.
func (t *Template) TextWith(values map[string]any, show func(expr, value string) string) (string, error) {
	p, ok := t.root.(*places)
	if !ok {
		return t.Text(values)
	}
	var b strings.Builder
	b.WriteString(p.texts[0])
	for i, n := range p.exprs {
		v, err := evaluate(n, p.source[i], values)
		if err != nil {
			return "", err
		}
		b.WriteString(show(p.source[i], write(v)) + p.texts[i+1])
		if b.Len() > maxText {
			return "", tooLarge()
		}
	}
	return b.String(), nil
}

// render copies a value with its places filled in.
func render(v any, values map[string]any) (any, error) {
	var err error
	switch v := v.(type) {
	case *places:
		return v.render(values)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			if out[i], err = render(v[i], values); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			if out[k], err = render(v[k], values); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

func (p *places) render(values map[string]any) (any, error) {
	if len(p.exprs) == 1 && p.texts[0] == "" && p.texts[1] == "" {
		return evaluate(p.exprs[0], p.source[0], values)
	}
	var b strings.Builder
	b.WriteString(p.texts[0])
	for i, n := range p.exprs {
		v, err := evaluate(n, p.source[i], values)
		if err != nil {
			return nil, err
		}
		b.WriteString(write(v))
		b.WriteString(p.texts[i+1])
		if b.Len() > maxText {
			return nil, tooLarge()
		}
	}
	return b.String(), nil
}

// write is a value as text among other text.
func write(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
