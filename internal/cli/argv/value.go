package argv

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"callgate/tool"
)

// parse makes a JSON value of a parameter's text.
func (p Param) parse(text string) (json.RawMessage, error) {
	types := p.Types
	if p.is("array") {
		if v, ok := asJSON(text); ok && typeOf(v) == "array" {
			return v, nil
		}
		types = p.Items
	}
	if only(types, "string") {
		return quote(text), nil
	}
	v, ok := asJSON(text)
	if ok && (len(types) == 0 || admits(types, typeOf(v))) {
		return v, nil
	}
	if !ok && only(types, "object") {
		return nil, tool.Errorf("argv.Parse", tool.Invalid,
			"--%s takes an object as JSON text, which %q is not", p.Flag(), tool.Truncate(text)).
			WithHint(`write it as --%s '{"name": "value"}'`, p.Flag())
	}
	if ok && !slices.Contains(types, "string") {
		return v, nil // of the wrong type, as the kernel will report
	}
	return quote(text), nil
}

// elements splits a list; any other value is its own only element.
func elements(v json.RawMessage) []json.RawMessage {
	list := []json.RawMessage{}
	switch {
	case len(v) == 0:
	case typeOf(v) != "array" || json.Unmarshal(v, &list) != nil:
		return []json.RawMessage{v}
	}
	return list
}

// nested reports whether a list begins with a list, and so is the complete value
// of a list of lists.
func nested(v json.RawMessage) bool {
	list := elements(v)
	return len(list) > 0 && typeOf(list[0]) == "array"
}

func only(types []string, t string) bool { return Param{Types: types}.is(t) }

func admits(types []string, t string) bool {
	return slices.Contains(types, t) || t == "number" && slices.Contains(types, "integer")
}

func asJSON(text string) (json.RawMessage, bool) {
	v := json.RawMessage(strings.TrimSpace(text))
	return v, len(v) > 0 && json.Valid(v)
}

// quote makes a string a JSON string, and leaves <, > and & as they are.
func quote(text string) json.RawMessage {
	v, _ := marshal(text) // a string always encodes
	return v
}

func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, &tool.Error{Op: "argv", Kind: tool.Invalid, Err: err,
			Message: "the arguments cannot be written as JSON"}
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
