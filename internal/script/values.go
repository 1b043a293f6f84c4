package script

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"callgate/tool"
)

// record is what attempt gives: ok, value and error.
type record struct {
	ok      starlark.Bool
	value   starlark.Value
	failure starlark.Value
}

var _ starlark.HasAttrs = (*record)(nil)

func (r *record) String() string {
	return fmt.Sprintf("attempt(ok=%s, value=%s, error=%s)", r.ok, r.value, r.failure)
}
func (r *record) Type() string          { return "attempt" }
func (r *record) Freeze()               {}
func (r *record) Truth() starlark.Bool  { return r.ok }
func (r *record) Hash() (uint32, error) { return 0, errors.New("unhashable: attempt") }
func (r *record) AttrNames() []string   { return []string{"error", "ok", "value"} }
func (r *record) Attr(name string) (starlark.Value, error) {
	switch name {
	case "ok":
		return r.ok, nil
	case "value":
		return r.value, nil
	case "error":
		return r.failure, nil
	}
	return nil, nil
}

// deferred is the answer of a call that was put off. A program never sees one.
type deferred struct {
	call  Call
	value starlark.Value
}

func (d *deferred) String() string        { return "(not made yet)" }
func (d *deferred) Type() string          { return "deferred" }
func (d *deferred) Freeze()               {}
func (d *deferred) Truth() starlark.Bool  { return false }
func (d *deferred) Hash() (uint32, error) { return 0, errors.New("unhashable: deferred") }

// jsonSize is about how many bytes the values take that a JSON text says.
func jsonSize(data []byte) int {
	return len(data) + 700*bytes.Count(data, []byte("{")) + 110*bytes.Count(data, []byte(":")) +
		32*bytes.Count(data, []byte(",")) + 64*bytes.Count(data, []byte("["))
}

// fromJSON makes a value of JSON.
func (m *machine) fromJSON(data []byte) (starlark.Value, error) {
	if err := m.charge(jsonSize(data)); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("json: %w", err)
	}
	if dec.More() {
		return nil, errors.New("json: more follows after the value")
	}
	return toValue(v, 0)
}

func toValue(v any, depth int) (starlark.Value, error) {
	if depth > maxDepth {
		return nil, errTooLarge
	}
	switch v := v.(type) {
	case nil:
		return starlark.None, nil
	case bool:
		return starlark.Bool(v), nil
	case string:
		return starlark.String(v), nil
	case json.Number:
		return number(v)
	case []any:
		list := make([]starlark.Value, len(v))
		for i := range v {
			var err error
			if list[i], err = toValue(v[i], depth+1); err != nil {
				return nil, err
			}
		}
		return starlark.NewList(list), nil
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		d := starlark.NewDict(len(v))
		for _, k := range keys {
			e, err := toValue(v[k], depth+1)
			if err != nil {
				return nil, err
			}
			if err := d.SetKey(starlark.String(k), e); err != nil {
				return nil, err
			}
		}
		return d, nil
	}
	return nil, fmt.Errorf("json: %T", v)
}

func number(n json.Number) (starlark.Value, error) {
	text := n.String()
	if len(text) < 1000 && !strings.ContainsAny(text, ".eE") {
		if i, ok := new(big.Int).SetString(text, 10); ok {
			return starlark.MakeBigInt(i), nil
		}
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("json: the number %s is too large", tool.Truncate(text))
	}
	return starlark.Float(f), nil
}

// toJSON writes a value as JSON.
func toJSON(v starlark.Value) ([]byte, error) {
	if _, err := bounded(v); err != nil {
		return nil, err
	}
	plain, err := plainValue(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(plain); err != nil {
		return nil, fmt.Errorf("json: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// object is a dict with its order.
type object struct {
	keys   []string
	values []any
}

// MarshalJSON writes the entries in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(k); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(o.values[i]); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func plainValue(v starlark.Value) (any, error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return nil, nil
	case starlark.Bool:
		return bool(v), nil
	case starlark.String:
		return strings.ToValidUTF8(string(v), "\uFFFD"), nil
	case starlark.Int:
		return json.Number(v.String()), nil
	case starlark.Float:
		if f := float64(v); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, nil
		}
		return nil, fmt.Errorf("%s is no number in JSON", v)
	case *reply:
		return plainValue(v.text)
	case *record:
		return plainEntries([]starlark.Tuple{
			{starlark.String("ok"), v.ok}, {starlark.String("value"), v.value}, {starlark.String("error"), v.failure},
		})
	case starlark.IterableMapping:
		return plainEntries(v.Items())
	case starlark.Iterable:
		list := []any{}
		for e := range starlark.Elements(v) {
			plain, err := plainValue(e)
			if err != nil {
				return nil, err
			}
			list = append(list, plain)
		}
		return list, nil
	}
	return nil, fmt.Errorf("a %s cannot be written as JSON", v.Type())
}

func plainEntries(items []starlark.Tuple) (any, error) {
	var o object
	for _, item := range items {
		key, ok := starlark.AsString(item[0])
		if !ok {
			if _, isInt := item[0].(starlark.Int); !isInt {
				return nil, fmt.Errorf("a dict with a %s as a key cannot be written as JSON", item[0].Type())
			}
			key = item[0].String()
		}
		plain, err := plainValue(item[1])
		if err != nil {
			return nil, err
		}
		o.keys, o.values = append(o.keys, strings.ToValidUTF8(key, "\uFFFD")), append(o.values, plain)
	}
	return o, nil
}

// jsonModule is json.encode, json.encode_indent and json.decode.
func (m *machine) jsonModule() *starlarkstruct.Module {
	encode := func(indent string) func(
		*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple,
	) (starlark.Value, error) {
		return func(
			_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
		) (starlark.Value, error) {
			var v starlark.Value
			if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &v); err != nil {
				return nil, err
			}
			data, err := toJSON(v)
			if err != nil || indent == "" {
				return starlark.String(data), err
			}
			if err := m.chargeProduct(len(data), 8); err != nil {
				return nil, err
			}
			var out bytes.Buffer
			if err := json.Indent(&out, data, "", indent); err != nil {
				return nil, err
			}
			return starlark.String(out.String()), nil
		}
	}
	decode := func(
		_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
	) (starlark.Value, error) {
		var text string
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "x", &text); err != nil {
			return nil, err
		}
		return m.fromJSON([]byte(text))
	}
	return &starlarkstruct.Module{Name: "json", Members: starlark.StringDict{
		"encode":        starlark.NewBuiltin("json.encode", encode("")),
		"encode_indent": starlark.NewBuiltin("json.encode_indent", encode("  ")),
		"decode":        starlark.NewBuiltin("json.decode", decode),
	}}
}

// valueOf is what a program gets of a call that went well: its data, its text, or both as a
// reply.
func (m *machine) valueOf(r *tool.Result) (starlark.Value, error) {
	var texts []string
	for _, c := range r.Content {
		if c.Text != "" {
			texts = append(texts, c.Text)
		}
	}
	text := strings.Join(texts, "\n")
	if len(r.Data) > 0 && string(r.Data) != "null" {
		data, err := m.fromJSON(r.Data)
		if err != nil || len(texts) == 0 {
			return data, err
		}
		return &reply{starlark.String(text), data}, m.charge(len(text))
	}
	text = cmp.Or(text, r.Summary, r.ArtifactRef)
	return starlark.String(text), m.charge(len(text))
}
