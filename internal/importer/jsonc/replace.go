package jsonc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"callgate/internal/importer/configtree"
)

// Replace makes the object at a path hold one member and no other: a name, and
// an object of fields. Missing levels of the path are made.
//
// All other bytes stay. A comment goes only with the member that it stands
// inside; comments between members remain. The new text is read again, and must
// hold the member and otherwise what was there before.
func Replace(text []byte, path []string, name string, fields []configtree.Field) ([]byte, error) {
	root, err := Parse(text)
	if err != nil {
		return nil, err
	}
	e := &editor{text: text, eol: configtree.EOL(text)}
	e.unit = e.guess()
	splices, err := e.splices(root, path, name, fields)
	if err != nil {
		return nil, err
	}
	out := configtree.Apply(text, splices)
	after, err := Parse(out)
	if err != nil {
		return nil, errors.Join(errDefect, err)
	}
	if root == nil {
		root = &configtree.Value{Kind: configtree.Object}
	}
	level := after
	for _, key := range path {
		level = level.Get(key)
	}
	if level == nil || len(level.Members) != 1 || level.Members[0].Name != name ||
		!level.Members[0].Value.Is(fields) || !configtree.Equal(root, after, path...) {
		return nil, errDefect
	}
	return out, nil
}

var errDefect = errors.New("the changed text would not say what was asked for")

type splice = configtree.Splice

// renderer writes a value at an indentation, on one line or several.
type renderer func(indent string, inline bool) string

// editor writes into a text in the style of the text.
type editor struct {
	text []byte
	eol  string
	unit string // of indentation
}

// guess is the indentation of the first line that has some.
func (e *editor) guess() string {
	for line := range bytes.Lines(e.text) {
		rest := bytes.TrimLeft(line, " \t")
		if lead := line[:len(line)-len(rest)]; len(lead) > 0 && len(lead) <= 8 && len(rest) > 0 && rest[0] == '"' {
			return string(lead)
		}
	}
	return "  "
}

func (e *editor) splices(
	root *configtree.Value, path []string, name string, fields []configtree.Field,
) ([]splice, error) {
	if root == nil {
		return e.fresh(path, name, fields), nil
	}
	level, depth := root, 0
	for {
		if level.Kind != configtree.Object {
			return nil, fail(level.From, "an object is expected here, and there is %s", level.Kind)
		}
		if depth == len(path) {
			break
		}
		if twice, ok := level.SecondMember(path[depth]); ok {
			return nil, fail(twice.At, "the name %s stands here a second time", quote(twice.Name))
		}
		next := level.Get(path[depth])
		if next == nil {
			return e.insert(level, path[depth], func(indent string, inline bool) string {
				return e.nested(path[depth+1:], name, fields, indent, inline)
			}), nil
		}
		depth++
		if next.Kind == configtree.Null {
			indent, own := e.margin(next.From)
			with := e.nested(path[depth:], name, fields, indent, !own)
			return []splice{{From: next.From, To: next.To, With: with}}, nil
		}
		level = next
	}
	if len(level.Members) == 0 {
		return e.insert(level, name, func(indent string, inline bool) string {
			return e.object(fields, indent, inline)
		}), nil
	}
	return e.only(level, name, fields), nil
}

// fresh writes a text that holds no value yet.
func (e *editor) fresh(path []string, name string, fields []configtree.Field) []splice {
	text := e.nested(path, name, fields, "", false) + e.eol
	body := bytes.TrimPrefix(e.text, []byte(bom))
	if !blank(body[bytes.LastIndexByte(body, '\n')+1:]) {
		text = e.eol + text // behind a comment
	}
	return []splice{{From: len(e.text), To: len(e.text), With: text}}
}

// nested is an object with levels around it.
func (e *editor) nested(path []string, name string, fields []configtree.Field, indent string, inline bool) string {
	if len(path) == 0 {
		path = []string{name}
	} else {
		path = append(append([]string{}, path...), name)
	}
	return e.wrap(path, fields, indent, inline)
}

func (e *editor) wrap(path []string, fields []configtree.Field, indent string, inline bool) string {
	if len(path) == 0 {
		return e.object(fields, indent, inline)
	}
	if inline {
		return "{" + quote(path[0]) + ": " + e.wrap(path[1:], fields, "", true) + "}"
	}
	in := indent + e.unit
	return "{" + e.eol + in + quote(path[0]) + ": " + e.wrap(path[1:], fields, in, false) + e.eol + indent + "}"
}

// object writes fields, on one line or each on its own.
func (e *editor) object(fields []configtree.Field, indent string, inline bool) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = quote(f.Name) + ": " + render(f.Value)
	}
	if inline {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	in := e.eol + indent + e.unit
	return "{" + in + strings.Join(parts, ","+in) + e.eol + indent + "}"
}

func render(value any) string {
	if fields, ok := value.([]configtree.Field); ok {
		parts := make([]string, len(fields))
		for i, f := range fields {
			parts[i] = quote(f.Name) + ": " + render(f.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	list, ok := value.([]string)
	if !ok {
		return quote(value)
	}
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = quote(s)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// quote writes a scalar as JSON, with < and > as they are.
func quote(value any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic("jsonc: a text is always JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// margin is the indentation of the line of an offset, and whether the text has
// several lines.
func (e *editor) margin(at int) (indent string, lines bool) {
	start := bytes.LastIndexByte(e.text[:at], '\n') + 1
	line := e.text[start:at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))]), bytes.IndexByte(e.text, '\n') >= 0
}

// begins reports whether only white space precedes an offset on its line.
func (e *editor) begins(at int) bool {
	start := bytes.LastIndexByte(e.text[:at], '\n') + 1
	return start > 0 && blank(e.text[start:at])
}

func blank(text []byte) bool { return len(bytes.Trim(text, " \t\r\n")) == 0 }
