package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ModelText tells the failure so that a model can act on it: what was wrong, what
// to do next, each field that is wrong, names that do exist, the schema and an
// example.
func (e *Error) ModelText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Kind, e.Message)
	if e.Hint != "" {
		b.WriteString("\nhint: " + e.Hint)
	}
	for _, f := range e.Fields {
		path := f.Path
		if path == "" {
			path = "the arguments"
		}
		if told := fmt.Sprintf("%s: want %s, got %s", path, f.Want, f.Got); !strings.Contains(e.Message, told) {
			b.WriteString("\n- " + told)
		}
	}
	hinted := func(s string) bool { return strings.Contains(e.Hint, s) }
	if missing := slices.DeleteFunc(slices.Clone(e.Similar), hinted); len(missing) > 0 {
		b.WriteString("\nsimilar: " + strings.Join(missing, ", "))
	}
	if len(e.Schema) > 0 {
		b.WriteString("\nschema: " + oneLine(e.Schema))
	}
	if len(e.Example) > 0 {
		b.WriteString("\nexample: " + oneLine(e.Example))
	}
	return b.String()
}

// oneLine writes JSON without the spaces that its author gave it: they are paid for.
func oneLine(data json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return string(data)
	}
	return b.String()
}
