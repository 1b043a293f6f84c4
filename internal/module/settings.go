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

// Seconds is a duration as an app file gives it: a number of seconds.
type Seconds float64

// Field is one key of a module's settings in an app file.
type Field struct {
	Key        string
	Constraint bool   // the key stands under constraints, not under config
	Expected   string // describes a valid value, for error messages
	Help       string // its purpose
	OneOf      []string
	Type       string // the JSON Schema type: boolean, integer, number, string, array or object
	index      []int  // of the struct's field, through embedded structs
	texts      bool   // an object whose values are texts
	low, high  float64
	narrower   string // see Narrows
}

// Switch is a setting that is true, false, or a word of its tag oneof; "" is false.
type Switch string

// Fields lists the keys of a module's settings, in the order of the struct. A
// field of the struct has a tag for its key, config:"timeout" or
// constraint:"allowed_hosts", a tag help:"its purpose", and may have
// range:"1,600" (numbers), oneof:"brave tavily" (texts and lists of them) or narrower:"more"
// (see Narrows). Its type is bool, int, float64, string, Seconds, Switch, []string, map[string]string or
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
			index: at, narrower: tag.Get("narrower"), texts: t.Field(i).Type == reflect.TypeFor[map[string]string](),
			low: math.Inf(-1), high: math.Inf(1),
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
		panic("the range tag of a setting holds " + text) // a mistake in a module, which its first test shows
	}
	return n
}

// describe returns the JSON Schema type of a field, and a phrase for its valid values.
func (f *Field) describe(t reflect.Type) (kind, expected string) {
	switch t {
	case reflect.TypeFor[bool]():
		return "boolean", "true or false"
	case reflect.TypeFor[Switch]():
		return "boolean", "true, false or " + strings.Join(f.OneOf, " or ")
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
		if len(f.OneOf) > 0 {
			return "array", "a list of any of " + strings.Join(f.OneOf, ", ")
		}
		return "array", "a list of texts"
	case reflect.TypeFor[map[string]string]():
		return "object", "names and their texts"
	case reflect.TypeFor[map[string]any]():
		return "object", "names and their values"
	default:
		panic(fmt.Sprintf("the setting %s has the Go type %v, which an app file cannot express", f.Key, t))
	}
}

func (f *Field) bounds() string {
	if math.IsInf(f.low, -1) {
		return ""
	}
	plain := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	return " from " + plain(f.low) + " to " + plain(f.high)
}

// Range returns the bounds of a number, and whether it is bounded.
func (f *Field) Range() (least, most float64, bounded bool) {
	return f.low, f.high, !math.IsInf(f.low, -1)
}

// Validate checks a value that an app file gives the key.
func (f *Field) Validate(value any) error {
	if f.accepts(value) {
		return nil
	}
	if text, ok := unquoted(value); ok && f.Type == "array" {
		return fmt.Errorf("it must be %s: put %q in quotes, or YAML takes it for a mapping", f.Expected, tool.Truncate(text))
	}
	if list, ok := value.([]any); ok && len(f.OneOf) > 0 {
		if i := slices.IndexFunc(list, f.isNone); i >= 0 {
			return fmt.Errorf("it must be %s, and %s is none of them", f.Expected, tool.Truncate(fmt.Sprint(list[i])))
		}
	}
	return errors.New("it must be " + f.Expected)
}

// isNone reports whether an item of a list is none of the texts that it may be.
func (f *Field) isNone(item any) bool {
	text, ok := item.(string)
	return !ok || len(f.OneOf) > 0 && !slices.Contains(f.OneOf, text)
}

func (f *Field) accepts(value any) bool {
	switch f.Type {
	case "boolean":
		_, ok := value.(bool)
		text, isText := value.(string)
		return ok || isText && slices.Contains(f.OneOf, text)
	case "integer", "number":
		n, ok := asNumber(value)
		return ok && n >= f.low && n <= f.high && (f.Type == "number" || n == math.Trunc(n))
	case "string":
		text, ok := value.(string)
		return ok && (len(f.OneOf) == 0 || slices.Contains(f.OneOf, text))
	case "array":
		list, ok := value.([]any)
		return ok && !slices.ContainsFunc(list, f.isNone)
	default:
		m, ok := value.(map[string]any)
		if ok && f.texts {
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

// Read returns a module's settings from an app file's blocks config and
// constraints. Where the settings have a method Check() error, Read calls it at
// the end.
func (m *Module) Read(config, constraints map[string]any) (any, error) {
	if m.Settings == nil {
		return nil, m.validate(nil, config, constraints)
	}
	settings := m.Settings()
	fields := m.Fields()
	if err := m.validate(fields, config, constraints); err != nil {
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

// validate returns an error for the first key that is not declared or has a wrong value.
func (m *Module) validate(fields []Field, config, constraints map[string]any) error {
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
				return m.unknownKey(block.name, key, slices.Sorted(maps.Keys(known)))
			}
			if err := f.Validate(block.values[key]); err != nil {
				return m.wrong("%s.%s: %v", block.name, key, err)
			}
		}
	}
	return nil
}

func (m *Module) unknownKey(block, key string, known []string) error {
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

// set stores a validated value in a field of the settings.
func set(field reflect.Value, value any) {
	switch field.Kind() {
	case reflect.Bool, reflect.String:
		if on, ok := value.(bool); ok && field.Kind() == reflect.String { // a Switch
			value = strconv.FormatBool(on)
		}
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
