package module

import (
	"maps"
	"reflect"
	"slices"
)

// What is narrower of two values of a setting. Of a constraint the kind of its value
// tells: true, the smaller number, and the list of what is allowed, where an empty one
// allows everything. A tag narrower:"more" names another, and makes a key of config one
// that is narrowed too.
const (
	narrowerTrue  = "true"
	narrowerFalse = "false" // of a Switch also: true is narrower than a word
	narrowerLess  = "less"
	narrowerOnly  = "only"  // a list of what is allowed; an empty one allows everything
	narrowerFewer = "fewer" // a list of what is allowed; an empty one allows nothing
	narrowerMore  = "more"  // a list of what is denied
)

// Narrows says what is narrower of two values of the setting; "": they are not compared,
// and a session keeps what it has.
func (f *Field) Narrows() string {
	switch {
	case f.narrower != "" || !f.Constraint:
		return f.narrower
	case f.Type == "boolean":
		return narrowerTrue
	case f.Type == "array":
		return narrowerOnly
	case f.Type == "integer" || f.Type == "number":
		return narrowerLess
	}
	return ""
}

// Narrower returns what the blocks config and constraints of a session say of the module,
// each key as it is in the app file now where that is narrower. It is an error where
// nothing is left that both allow.
func (m *Module) Narrower(config, constraints, nowConfig, nowConstraints map[string]any) (
	map[string]any, map[string]any, error,
) {
	if m.Settings == nil {
		return config, constraints, nil
	}
	config, constraints = maps.Clone(config), maps.Clone(constraints)
	was, is := reflect.ValueOf(m.Settings()).Elem(), reflect.ValueOf(m.Settings()).Elem()
	for _, f := range m.Fields() {
		into, now := &config, nowConfig
		if f.Constraint {
			into, now = &constraints, nowConstraints
		}
		a, b := was.FieldByIndex(f.index), is.FieldByIndex(f.index)
		if value, ok := (*into)[f.Key]; ok {
			set(a, value)
		}
		if value, ok := now[f.Key]; ok {
			set(b, value)
		}
		value, changed, empty := f.narrow(a, b)
		if empty {
			return nil, nil, m.wrong("%s was changed, and the session is left nothing that it allowed before and allows now", f.Key).
				WithHint("callgate reload gives open sessions what the file says now")
		}
		if changed {
			if *into == nil {
				*into = map[string]any{}
			}
			(*into)[f.Key] = value
		}
	}
	return config, constraints, nil
}

// narrow returns the narrower of two values, as an app file has it. changed says that it is
// not the first; empty, that they allow nothing in common.
func (f *Field) narrow(a, b reflect.Value) (value any, changed, empty bool) {
	switch f.Narrows() {
	case narrowerTrue:
		return true, b.Bool() && !a.Bool(), false
	case narrowerFalse:
		if b.Kind() == reflect.String { // a Switch
			return switchValue(b.String()), openness(b.String()) < openness(a.String()), false
		}
		return false, !b.Bool() && a.Bool(), false
	case narrowerLess:
		if b.CanInt() {
			return b.Int(), b.Int() < a.Int(), false
		}
		return b.Float(), b.Float() < a.Float(), false
	}
	if a.Kind() != reflect.Slice {
		return nil, false, false
	}
	was, is := a.Interface().([]string), b.Interface().([]string)
	switch f.Narrows() {
	case narrowerOnly:
		switch {
		case len(is) == 0:
			return nil, false, false
		case len(was) == 0:
			return list(is), true, false
		}
		both := common(was, is)
		return list(both), len(both) < len(was), len(both) == 0
	case narrowerFewer:
		both := common(was, is)
		return list(both), len(both) < len(was), false
	case narrowerMore:
		all := append(slices.Clone(was), slices.DeleteFunc(slices.Clone(is), func(one string) bool {
			return slices.Contains(was, one)
		})...)
		return list(all), len(all) > len(was), false
	}
	return nil, false, false
}

func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(one string) bool { return !slices.Contains(b, one) })
}

func list(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	return all
}

// openness orders the values of a Switch.
func openness(text string) int {
	switch text {
	case "", "false":
		return 0
	case "true":
		return 1
	}
	return 2
}

func switchValue(text string) any {
	if openness(text) < 2 {
		return text == "true"
	}
	return text
}
