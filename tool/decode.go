package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// DecodeArgs reads the arguments of a call, which met the tool's schema, into a Go
// value. Where they do not fit it, because a number is too large for it or the
// schema promises more than the value can hold, the error says which argument is
// wrong and what would fit, in the words of the tool's caller.
func DecodeArgs(op string, args json.RawMessage, into any) error {
	err := json.Unmarshal(args, into)
	if err == nil {
		return nil
	}
	e := &Error{
		Op: op, Kind: Invalid, Message: "the arguments do not fit " + op,
		Hint: "nothing was run; mend them and call again",
	}
	var own *Error
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &own):
		e.Message += ": " + own.message()
	case errors.As(err, &wrong):
		field := FieldError{
			Path: pathOf(reflect.TypeOf(into), wrong.Field), Want: wanted(wrong.Type),
			Got: "a " + TruncateTo(wrong.Value, 100),
		}
		e.Fields = []FieldError{field}
		where := field.Path
		if where == "" {
			where = "the whole"
		}
		e.Message = fmt.Sprintf("the arguments do not fit: %s must be %s, and is %s", where, field.Want, field.Got)
	}
	return e
}

// pathOf is a path of names as JSON has them: without the embedded structs that are
// in the path of a Go type.
func pathOf(t reflect.Type, path string) string {
	var names []string
	for name := range strings.SplitSeq(path, ".") {
		for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
			t = t.Elem()
		}
		if t == nil || t.Kind() != reflect.Struct {
			names = append(names, name)
			continue
		}
		field, ok := t.FieldByNameFunc(func(field string) bool {
			f, _ := t.FieldByName(field)
			tagged, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return tagged == name || tagged == "" && f.Name == name
		})
		if !ok || !field.Anonymous {
			names = append(names, name)
		}
		if t = nil; ok {
			t = field.Type
		}
	}
	return strings.Join(names, ".")
}

// wanted says which JSON values fit a Go type.
func wanted(t reflect.Type) string {
	if t == nil {
		return "another value"
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		largest := uint64(1)<<(t.Bits()-1) - 1
		return fmt.Sprintf("a whole number from -%d to %d", largest+1, largest)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 to %d", ^uint64(0)>>(64-t.Bits()))
	case reflect.Float32, reflect.Float64:
		return fmt.Sprintf("a number that %d bits can hold", t.Bits())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return wanted(t.Elem())
	default:
		return "another value"
	}
}
