// Package form makes the fields of a form from the JSON Schema of a tool's arguments, and
// arguments from what a person wrote into them.
//
// # Law
//
// What a person leaves as it is, stays as it is: the arguments that come back from a form
// that nobody touched mean what they meant. A value that a plain field cannot show whole
// (an object, a list, a text with characters that have no shape) is a field of JSON text.
// The form checks only that values can be read; the gate checks the rest.
package form

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/visible"
	"callgate/tool"
)

// Kind is how a field is shown and read.
type Kind string

// The kinds.
const (
	Text   Kind = "text"   // one line
	Lines  Kind = "lines"  // several
	Number Kind = "number" // as JSON writes it
	Bool   Kind = "bool"   // true, false, or not said
	Choice Kind = "choice" // one of Options, or not said
	JSON   Kind = "json"   // any value, as JSON
)

// Prefix begins the names of a form's fields.
const Prefix = "arg."

// Whole is the field that has all arguments, where the schema names none.
const Whole = "(arguments)"

// Field is one field of a form.
type Field struct {
	Name     string
	Kind     Kind
	Help     string
	Options  []string // of Choice: the values, as JSON
	Value    string   // as the person is shown it; of Choice and Bool, as JSON
	Set      bool     // the arguments have it
	Required bool
	Problem  string // why what was written cannot be read
}

// Input is the name of the field in the form.
func (f Field) Input() string { return Prefix + f.Name }

// schema is what is read of a JSON Schema.
type schema struct {
	Type        json.RawMessage   `json:"type"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
	Enum        []json.RawMessage `json:"enum"`
	Description string            `json:"description"`
	Default     json.RawMessage   `json:"default"`
	MaxLength   *float64          `json:"maxLength"`
	Format      string            `json:"format"`
}

// Fields are the fields for arguments of a schema: those that it names, in its order, and
// those that the arguments have beside them.
func Fields(input, args json.RawMessage) []Field {
	var s schema
	_ = json.Unmarshal(input, &s) // without a schema, the arguments alone say what there is
	names, kinds := members(s.Properties)
	given, values := members(args)
	if len(bytes.TrimSpace(args)) > 0 && given == nil && !isObject(args) {
		return []Field{{Name: Whole, Kind: JSON, Value: show(args), Set: true}}
	}
	if len(names) == 0 && len(given) == 0 {
		return []Field{{Name: Whole, Kind: JSON, Value: "{}", Set: true}}
	}
	var fields []Field
	for _, name := range names {
		f := describe(name, kinds[name], values[name])
		f.Required = slices.Contains(s.Required, name)
		fields = append(fields, f)
	}
	for _, name := range given {
		if _, known := kinds[name]; !known {
			fields = append(fields, describe(name, nil, values[name]))
		}
	}
	return fields
}

func isObject(raw json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil && m != nil
}

// members reads a JSON object with the order of its names; nil if it is none.
func members(raw json.RawMessage) (names []string, values map[string]json.RawMessage) {
	if !isObject(raw) {
		return nil, nil
	}
	values = map[string]json.RawMessage{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, _ = dec.Token() // the brace
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			break
		}
		if _, twice := values[name]; !twice {
			names = append(names, name)
		}
		values[name] = value
	}
	return names, values
}

// describe is the field for one argument; value is nil if it is not given.
func describe(name string, property, value json.RawMessage) Field {
	var s schema
	_ = json.Unmarshal(property, &s)
	f := Field{Name: name, Help: s.Description, Set: value != nil, Kind: kindOf(s, value)}
	if d := strings.TrimSpace(string(s.Default)); d != "" && len(d) < 80 {
		f.Help = strings.TrimSpace(f.Help + " Default: " + d)
	}
	if len(s.Enum) > 0 {
		for _, one := range s.Enum {
			f.Options = append(f.Options, compact(one))
		}
		f.Kind = Choice
		if value != nil && !slices.Contains(f.Options, compact(value)) {
			f.Kind = JSON
		}
	}
	if value == nil {
		return f
	}
	f.Value = show(value)
	var text string
	if (f.Kind == Text || f.Kind == Lines) && json.Unmarshal(value, &text) == nil {
		f.Value = text
	}
	if f.Kind == Choice || f.Kind == Bool || f.Kind == Number {
		f.Value = compact(value)
	}
	return f
}

// kindOf is how a value of a schema is shown. A value that does not fit is shown as JSON.
func kindOf(s schema, value json.RawMessage) Kind {
	var word string
	_ = json.Unmarshal(s.Type, &word)
	first := byte(0)
	if v := bytes.TrimSpace(value); len(v) > 0 {
		first = v[0]
	}
	switch {
	case value == nil && word == "string":
		if s.MaxLength != nil && *s.MaxLength <= 200 || s.Format != "" {
			return Text
		}
		return Lines
	case value == nil && (word == "number" || word == "integer"), (first == '-' || '0' <= first && first <= '9') &&
		(word == "" || word == "number" || word == "integer"):
		return Number
	case value == nil && word == "boolean", (first == 't' || first == 'f') && (word == "" || word == "boolean"):
		return Bool
	case first == '"' && (word == "" || word == "string"):
		var text string
		if json.Unmarshal(value, &text) != nil || !isPlain(text) {
			return JSON
		}
		return Lines
	}
	return JSON
}

// isPlain reports whether a text comes back from a field as it was: everything in it is
// seen, and no line end is changed on the way.
func isPlain(text string) bool {
	return visible.Lines(text) == text && !strings.ContainsAny(text, "\r") && !strings.ContainsRune(text, '\uFFFD')
}

// show writes a value so that it can be edited and keeps its meaning.
func show(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return visible.JSON(string(value))
	}
	return visible.JSON(b.String())
}

func compact(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return b.String()
}

// Read reads what a person wrote into the fields of Fields(input, args). changed is false if
// the arguments mean what they meant. The fields that are returned have what was written, and
// what is wrong with it; then there is an error too.
func Read(input, args json.RawMessage, written url.Values) (
	got json.RawMessage, changed bool, fields []Field, err error,
) {
	fields = Fields(input, args)
	if len(fields) == 1 && fields[0].Name == Whole {
		return readWhole(fields, args, written)
	}
	_, before := members(args)
	values := map[string]json.RawMessage{}
	var order []string
	for i := range fields {
		f := &fields[i]
		list, sent := written[f.Input()]
		value := before[f.Name] // what the form did not have stays
		if sent {
			f.Value = list[0]
			if value, err = f.read(list[0]); err != nil {
				f.Problem = err.Error()
				continue
			}
		}
		if value != nil {
			order = append(order, f.Name)
			values[f.Name] = value
		}
	}
	for _, f := range fields {
		if f.Problem != "" {
			return nil, false, fields, tool.Errorf("console.form", tool.Invalid, "%s cannot be read: %s",
				tool.Truncate(f.Name), f.Problem).WithHint("mend the field that is marked")
		}
	}
	got = object(order, values)
	return got, !sameJSON(got, args), fields, nil
}

func readWhole(fields []Field, args json.RawMessage, written url.Values) (json.RawMessage, bool, []Field, error) {
	f := &fields[0]
	list, sent := written[f.Input()]
	if !sent {
		return args, false, fields, nil
	}
	f.Value = list[0]
	if !isObject(json.RawMessage(f.Value)) {
		f.Problem = "it is not a JSON object"
		return nil, false, fields, tool.Errorf("console.form", tool.Invalid, "the arguments are not a JSON object").
			WithHint(`write them as {"name": "value"}`)
	}
	got := json.RawMessage(compact(json.RawMessage(f.Value)))
	return got, !sameJSON(got, args), fields, nil
}

// read reads what was written into a field; nil: the argument is left out.
func (f *Field) read(written string) (json.RawMessage, error) {
	text := strings.ReplaceAll(written, "\r\n", "\n")
	switch f.Kind {
	case Text, Lines:
		if text == "" && !f.Set && !f.Required {
			return nil, nil
		}
		data, err := json.Marshal(text)
		return data, err
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	switch f.Kind {
	case Number:
		var n json.Number
		if err := json.Unmarshal([]byte(text), &n); err != nil || strings.HasPrefix(text, `"`) {
			return nil, tool.Errorf("console.form", tool.Invalid, "%q is not a number", tool.Truncate(text))
		}
	case Bool:
		if _, err := strconv.ParseBool(text); err != nil || text != "true" && text != "false" {
			return nil, tool.Errorf("console.form", tool.Invalid, "%q is neither true nor false", tool.Truncate(text))
		}
	case Choice:
		if !slices.Contains(f.Options, text) {
			return nil, tool.Errorf("console.form", tool.Invalid, "%s is not one of the choices", tool.Truncate(text))
		}
	}
	if !json.Valid([]byte(text)) {
		return nil, tool.Errorf("console.form", tool.Invalid, "it is not JSON")
	}
	return json.RawMessage(compact(json.RawMessage(text))), nil
}

// object writes members in their order.
func object(order []string, values map[string]json.RawMessage) json.RawMessage {
	b := []byte{'{'}
	for i, name := range order {
		if i > 0 {
			b = append(b, ',')
		}
		key, _ := json.Marshal(name) // a string can always be written
		b = append(append(append(b, key...), ':'), values[name]...)
	}
	return append(b, '}')
}

// sameJSON reports whether two values mean the same. Nothing is an empty object.
func sameJSON(a, b json.RawMessage) bool {
	read := func(raw json.RawMessage) (string, bool) {
		if len(bytes.TrimSpace(raw)) == 0 {
			raw = json.RawMessage("{}")
		}
		var v any
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if dec.Decode(&v) != nil {
			return "", false
		}
		data, err := json.Marshal(v)
		return string(data), err == nil
	}
	x, okX := read(a)
	y, okY := read(b)
	return okX && okY && x == y
}
