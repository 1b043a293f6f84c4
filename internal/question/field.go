package question

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/tool"
)

// FieldType is what a field of a form holds.
type FieldType string

// The types of fields.
const (
	Text        FieldType = "text"
	TextArea    FieldType = "textarea"
	Number      FieldType = "number"
	Integer     FieldType = "integer"
	Boolean     FieldType = "boolean"
	Select      FieldType = "select"
	MultiSelect FieldType = "multiselect"
	Date        FieldType = "date"
	Email       FieldType = "email"
	URL         FieldType = "url"
	Password    FieldType = "password"
	Range       FieldType = "range"
	Rating      FieldType = "rating"
)

// FieldTypes are the types of fields.
func FieldTypes() []FieldType {
	return []FieldType{
		Text, TextArea, Number, Integer, Boolean, Select, MultiSelect, Date, Email, URL, Password, Range, Rating,
	}
}

// Field is one part of a form.
type Field struct {
	Name        string    `json:"name"`
	Label       string    `json:"label"`
	Type        FieldType `json:"type"`
	Description string    `json:"description,omitempty"`
	Options     []string  `json:"options,omitempty"`
	Placeholder string    `json:"placeholder,omitempty"`
	Default     any       `json:"default,omitempty"` // of the field's type; nil: none
	Required    bool      `json:"required,omitempty"`
	Min         *float64  `json:"min,omitempty"`
	Max         *float64  `json:"max,omitempty"`
	Step        *float64  `json:"step,omitempty"`
	Pattern     string    `json:"pattern,omitempty"`
	MinLength   int       `json:"min_length,omitempty"`
}

// askedField is a field as a model writes it.
type askedField struct {
	Name, Label, Type, Description, Placeholder, Pattern string

	Options        []string
	Default        json.RawMessage
	Required       bool
	Min, Max, Step *float64
	MinLength      int `json:"min_length"`
}

// folded are the names that other programs have for the types.
func folded(name string) (FieldType, bool) {
	name = strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(strings.TrimSpace(name)))
	if t := FieldType(name); slices.Contains(FieldTypes(), t) {
		return t, true
	}
	switch name {
	case "", "string", "str", "input", "line", "tel", "phone", "search", "color", "time":
		return Text, true
	case "longtext", "multiline", "markdown", "paragraph", "code":
		return TextArea, true
	case "float", "double", "decimal", "numeric", "currency", "percent":
		return Number, true
	case "int", "count", "whole":
		return Integer, true
	case "bool", "checkbox", "toggle", "switch", "yesno", "confirm":
		return Boolean, true
	case "dropdown", "radio", "choice", "choices", "enum", "radiogroup", "combobox", "option":
		return Select, true
	case "multichoice", "multiplechoice", "checkboxes", "checkboxgroup", "tags", "multi", "array", "list":
		return MultiSelect, true
	case "day", "calendar", "datepicker":
		return Date, true
	case "mail", "emailaddress":
		return Email, true
	case "uri", "link", "website":
		return URL, true
	case "secret", "token", "passphrase", "credential":
		return Password, true
	case "slider", "scale":
		return Range, true
	case "stars", "score", "star":
		return Rating, true
	}
	return "", false
}

func parseForm(in []askedField) ([]Field, error) {
	if len(in) > MaxFields {
		return nil, invalid("the form has %d fields, and %d are the most", len(in), MaxFields)
	}
	var form []Field
	taken := map[string]bool{}
	for i, one := range in {
		f, err := parseField(one, i, taken)
		if err != nil {
			return nil, err
		}
		taken[f.Name] = true
		form = append(form, f)
	}
	return form, nil
}

// parseField reads one field; taken are the names of those before it.
func parseField(in askedField, i int, taken map[string]bool) (Field, error) {
	f := Field{
		Label: strings.TrimSpace(in.Label), Description: in.Description, Placeholder: tool.Truncate(in.Placeholder),
		Required: in.Required, Min: in.Min, Max: in.Max, Step: in.Step, Pattern: in.Pattern, MinLength: in.MinLength,
	}
	var known bool
	if f.Type, known = folded(in.Type); !known {
		return f, invalid("field %d has the type %q", i+1, tool.Truncate(in.Type)).
			WithHint("use one of %v", FieldTypes())
	}
	name := strings.TrimSpace(in.Name)
	if f.Label == "" {
		f.Label = name
	}
	if f.Name = slug(name); name != "" && taken[f.Name] {
		return f, invalid("two fields are called %q", f.Name).WithHint("give each field a name of its own")
	}
	if f.Name == "" {
		f.Name = uniqueName(slug(f.Label), i, taken)
	}
	if f.Label == "" {
		f.Label = f.Name
	}
	for _, o := range in.Options {
		f.Options = append(f.Options, strings.TrimSpace(o))
	}
	if f.Type == MultiSelect && len(f.Options) == 0 || f.Type == Select && len(f.Options) == 0 {
		return f, f.errorf("a %s needs options", f.Type)
	}
	if f.Type != Select && f.Type != MultiSelect {
		f.Options = nil
	}
	if err := f.check(); err != nil {
		return f, err
	}
	return f, f.setDefault(in.Default)
}

// uniqueName is a name that no field before has.
func uniqueName(base string, i int, taken map[string]bool) string {
	if base == "" {
		base = fmt.Sprintf("field_%d", i+1)
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}

const maxName = 64

// slug is a name of letters, digits, dots, underscores and dashes.
func slug(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' && r != '-' && r != '_' {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('_')
			gap = false
		}
		if b.WriteRune(unicode.ToLower(r)); b.Len() > maxName {
			break
		}
	}
	return strings.Trim(b.String(), "_-.")
}

func (f *Field) errorf(format string, args ...any) *tool.Error {
	return invalid("the field %q: %s", f.Name, fmt.Sprintf(format, args...))
}

// check reports a field that no reply could fit.
func (f *Field) check() error {
	switch {
	case utf8.RuneCountInString(f.Label) > MaxWord:
		return f.errorf("its label has more than %d characters", MaxWord)
	case utf8.RuneCountInString(f.Description) > MaxText:
		return f.errorf("its description has more than %d characters", MaxText)
	case f.Step != nil && *f.Step <= 0:
		return f.errorf("step is %v, and must be more than 0", *f.Step)
	case f.MinLength < 0 || f.MinLength > maxReply:
		return f.errorf("min_length is %d", f.MinLength)
	}
	if err := checkWords("options of "+f.Name, f.Options, MaxChoices); err != nil {
		return err
	}
	switch f.Type {
	case Range:
		f.setRange(0, 100)
	case Rating:
		f.setRange(1, 5)
	}
	if f.Min != nil && f.Max != nil && *f.Min > *f.Max {
		return f.errorf("min is %v and max %v", *f.Min, *f.Max)
	}
	if _, err := regexp.Compile(f.Pattern); err != nil {
		return f.errorf("its pattern is not a regular expression: %v", err).WithHint("write it in Go's syntax (RE2)")
	}
	return nil
}

func (f *Field) setRange(least, most float64) {
	if f.Min == nil {
		f.Min = &least
	}
	if f.Max == nil {
		f.Max = &most
	}
}

// setDefault keeps a default that fits the field.
func (f *Field) setDefault(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if f.Type == Password {
		return f.errorf("a password has no default")
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return f.errorf("its default cannot be read")
	}
	if text, ok := v.(string); ok && text == "" {
		return nil
	}
	value, err := f.Value(v)
	if err != nil {
		return f.errorf("its default does not fit: %s", messageOf(err))
	}
	f.Default = value
	return nil
}

// IsSecret reports whether nobody but its user may read the value.
func (f *Field) IsSecret() bool { return f.Type == Password }
