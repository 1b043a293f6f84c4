package limits

import (
	"bytes"
	"encoding/json"
)

// largeText is the size from which on an object is decoded value by value. A decoder
// over all of it would hold the text once or twice more.
const largeText = 1 << 20

// decodeLarge decodes a large object. It reports false for anything else: then the
// decoder says what is wrong.
func decodeLarge(text []byte) (value any, ok bool) {
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) < largeText || text[0] != '{' {
		return nil, false
	}
	var parts map[string]part
	if json.Unmarshal(text, &parts) != nil {
		return nil, false
	}
	object := make(map[string]any, len(parts))
	for name, p := range parts {
		object[name] = p.value
	}
	return object, true
}

// part is one value of a large object.
type part struct{ value any }

// UnmarshalJSON decodes the value, which is not copied for it.
func (p *part) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		var s string
		err := json.Unmarshal(text, &s)
		p.value = s
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(&p.value)
}
