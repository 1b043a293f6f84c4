package module

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/nearest"
	"callgate/tool"
)

// Seconds is a duration as people write it in an app file.
type Seconds float64

// Field is one key that an app file may give a module.
type Field struct {
	Key        string
	Constraint bool   // it stands under constraints, not under config
	Expected   string // what its value must be, in words
	Help       string // what it is for
	OneOf      []string
	Type       string // of its value in JSON Schema: boolean, integer, number, string, array or object
	index      []int  // of the struct's field, through embedded structs
	low, high  float64
}

// Fields lists what a module's settings may say, in the order they are
// declared. A field of the struct is tagged with its key, config:"timeout" or
// constraint:"allowed_hosts", with help:"what it is for", and may be bounded by
// range:"1,600" (numbers) or oneof:"brave tavily" (texts). Its type is bool,
// int, float64, string, Seconds, []string, map[string]string or
// map[string]any. The fields of an embedded struct are settings like the others.
func (m *Module) Fields() []Field {
	if m.Settings == nil {
		return nil
	}
	return fieldsOf(reflect.TypeOf(m.Settings()).Elem(), nil)
}

// fieldsOf lists the settings of a struct that stands at index in the module's
// own.
func fieldsOf(t reflect.Type, index []int) []Field {
	var all []Field
	for i := range t.NumField() {
		at := append(slices.Clone(index), i)
		if t.Field(i).Anonymous && t.Field(i).Type.Kind() == reflect.Struct {
			all = append(all, fieldsOf(t.Field(i).Type, at)...)
			continue
		}
		tag := t.Field(i).Tag
		f := Field{
			Key: tag.Get("config"), Help: tag.Get("help"), OneOf: strings.Fields(tag.Get("oneof")),
			index: at, low: math.Inf(-1), high: math.Inf(1),
		}
		if key, ok := tag.Lookup("constraint"); ok {
			f.Key, f.Constraint = key, true
		}
		if f.Key == "" {
			continue
		}
		if low, high, ok := strings.Cut(tag.Get("range"), ","); ok {
			f.low, f.high = number(low), number(high)
		}
		f.Type, f.Expected = f.describe(t.Field(i).Type)
		all = append(all, f)
	}
	return all
}

func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("a range tag holds " + text) // a mistake in a module, seen by its first test
	}
	return n
}

// describe says what a value must be.
func (f *Field) describe(t reflect.Type) (kind, want string) {
	switch t {
	case reflect.TypeFor[bool]():
		return "boolean", "true or false"
	case reflect.TypeFor[int]():
		return "integer", "a whole number" + f.bounds()
	case reflect.TypeFor[float64]():
		return "number", "a number" + f.bounds()
	case reflect.TypeFor[Seconds]():
		return "number", "a number of seconds" + f.bounds()
	case reflect.TypeFor[string]():
		if len(f.OneOf) > 0 {
			return "string", "one of " + strings.Join(f.OneOf, ", ")
		}
		return "string", "a text"
	case reflect.TypeFor[[]string]():
		return "array", "a list of texts"
	case reflect.TypeFor[map[string]string]():
		return "object", "names and their texts"
	case reflect.TypeFor[map[string]any]():
		return "object", "names and their values"
	default:
		panic(fmt.Sprintf("the setting %s has the type %v, which no app file can give", f.Key, t))
	}
}

func (f *Field) bounds() string {
	if math.IsInf(f.low, -1) {
		return ""
	}
	return fmt.Sprintf(" from %g to %g", f.low, f.high)
}

// Range returns the bounds of a number, and whether it has any.
func (f *Field) Range() (least, most float64, bounded bool) {
	return f.low, f.high, !math.IsInf(f.low, -1)
}

// Validate reports whether a value of an app file may stand under the key.
func (f *Field) Validate(value any) error {
	if f.fits(value) {
		return nil
	}
	if text, ok := unquoted(value); ok && f.Type == "array" {
		return fmt.Errorf("it must be %s: put %q in quotes, or YAML takes it for a mapping", f.Expected, tool.Truncate(text))
	}
	return errors.New("it must be " + f.Expected)
}

func (f *Field) fits(value any) bool {
	switch f.Type {
	case "boolean":
		_, ok := value.(bool)
		return ok
	case "integer", "number":
		n, ok := asNumber(value)
		return ok && n >= f.low && n <= f.high && (f.Type == "number" || n == math.Trunc(n))
	case "string":
		text, ok := value.(string)
		return ok && (len(f.OneOf) == 0 || slices.Contains(f.OneOf, text))
	case "array":
		list, ok := value.([]any)
		return ok && !slices.ContainsFunc(list, notText)
	default:
		m, ok := value.(map[string]any)
		if ok && f.Expected == "names and their texts" {
			for _, v := range m {
				ok = ok && !notText(v)
			}
		}
		return ok
	}
}

func notText(v any) bool { _, ok := v.(string); return !ok }

// unquoted finds a text in a list that YAML took for a mapping because it holds
// a colon and is not in quotes, as in {hosts: [localhost:8080]}.
func unquoted(value any) (text string, ok bool) {
	list, _ := value.([]any)
	for _, element := range list {
		m, _ := element.(map[string]any)
		for name, value := range m {
			if n, number := asNumber(value); number && len(m) == 1 {
				return name + ":" + strconv.FormatFloat(n, 'f', -1, 64), true
			}
		}
	}
	return "", false
}

func asNumber(value any) (float64, bool) {
	switch v := reflect.ValueOf(value); {
	case !v.IsValid():
		return 0, false
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	default:
		return 0, false
	}
}

// Read makes a module's settings of what an app file says under config and
// under constraints. Settings that have a method Check() error are checked as
// a whole.
func (m *Module) Read(config, constraints map[string]any) (any, error) {
	if m.Settings == nil {
		return nil, m.fits(nil, config, constraints)
	}
	settings := m.Settings()
	fields := m.Fields()
	if err := m.fits(fields, config, constraints); err != nil {
		return nil, err
	}
	into := reflect.ValueOf(settings).Elem()
	for _, f := range fields {
		from := config
		if f.Constraint {
			from = constraints
		}
		if value, ok := from[f.Key]; ok {
			set(into.FieldByIndex(f.index), value)
		}
	}
	if c, ok := settings.(interface{ Check() error }); ok {
		if err := c.Check(); err != nil {
			return nil, m.wrong("%v", err)
		}
	}
	return settings, nil
}

// fits reports the first key that is not declared, or whose value is wrong.
func (m *Module) fits(fields []Field, config, constraints map[string]any) error {
	for _, block := range []struct {
		name   string
		values map[string]any
	}{{"config", config}, {"constraints", constraints}} {
		known := map[string]Field{}
		for _, f := range fields {
			if f.Constraint == (block.name == "constraints") {
				known[f.Key] = f
			}
		}
		for _, key := range slices.Sorted(maps.Keys(block.values)) {
			f, ok := known[key]
			if !ok {
				return m.unknown(block.name, key, slices.Sorted(maps.Keys(known)))
			}
			if err := f.Validate(block.values[key]); err != nil {
				return m.wrong("%s.%s: %v", block.name, key, err)
			}
		}
	}
	return nil
}

func (m *Module) unknown(block, key string, known []string) error {
	e := m.wrong("%s.%s is not known", block, tool.Truncate(key))
	switch near := nearest.Name(key, known); {
	case near != "":
		return e.WithHint("did you mean %s?", near)
	case len(known) == 0:
		return e.WithHint("delete it: the module takes no %s", block)
	default:
		return e.WithHint("the keys are %s", strings.Join(known, ", "))
	}
}

func (m *Module) wrong(format string, args ...any) *tool.Error {
	return tool.Errorf("module.Read", tool.Invalid, "tools.modules."+m.Name+": "+format, args...)
}

// set puts a value that fits into a field.
func set(field reflect.Value, value any) {
	switch field.Kind() {
	case reflect.Bool, reflect.String:
		field.Set(reflect.ValueOf(value).Convert(field.Type()))
	case reflect.Int:
		n, _ := asNumber(value)
		field.SetInt(int64(n))
	case reflect.Float64:
		n, _ := asNumber(value)
		field.SetFloat(n)
	case reflect.Slice:
		var texts []string
		for _, v := range value.([]any) {
			texts = append(texts, v.(string))
		}
		field.Set(reflect.ValueOf(texts))
	case reflect.Map:
		if field.Type() == reflect.TypeFor[map[string]any]() {
			field.Set(reflect.ValueOf(value))
			return
		}
		texts := map[string]string{}
		for k, v := range value.(map[string]any) {
			texts[k] = v.(string)
		}
		field.Set(reflect.ValueOf(texts))
	}
}
