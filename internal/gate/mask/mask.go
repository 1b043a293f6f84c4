// Package mask applies an app's mask to the results of calls.
package mask

import (
	"bytes"
	"encoding/json"
	"strings"

	"callgate/tool"
)

// masked stands for a value that its name gives away.
const masked = "[masked]"

// Result applies an app's mask to everything in a result that is text.
func Result(r *tool.Result, mask func(string) string) {
	r.Summary = Text(r.Summary, mask)
	for i, text := range r.Warnings {
		r.Warnings[i] = mask(text)
	}
	for i := range r.Content {
		r.Content[i].Text = Text(r.Content[i].Text, mask)
		r.Content[i].URI = mask(r.Content[i].URI)
	}
	r.Data = JSON(r.Data, mask)
	if r.Error != nil {
		e := *r.Error
		e.Message, e.Hint, e.Fields = Text(e.Message, mask), mask(e.Hint), append([]tool.FieldError(nil), e.Fields...)
		for i := range e.Fields {
			e.Fields[i].Got = mask(e.Fields[i].Got)
		}
		r.Error = &e
	}
}

// Text masks a text, which may be JSON.
func Text(text string, mask func(string) string) string {
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		text = string(JSON(json.RawMessage(text), mask))
	}
	return mask(text)
}

// JSON masks the strings of a JSON value, and what stands under a name that
// the mask knows, such as a password. All other bytes stay; what is not JSON is
// left alone.
func JSON(data json.RawMessage, mask func(string) string) json.RawMessage {
	if len(data) == 0 || !json.Valid(data) {
		return data
	}
	m := jsonMasker{mask: mask}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var out bytes.Buffer
	copied, at := 0, 0
	for token, err := dec.Token(); err == nil; token, err = dec.Token() {
		end := int(dec.InputOffset())
		if shown, changed := m.next(token); changed {
			start := at + bytes.IndexFunc(data[at:end], func(r rune) bool { return !strings.ContainsRune(" \t\r\n,:", r) })
			out.Write(data[copied:start])
			text, _ := json.Marshal(shown) // strings can always be encoded
			out.Write(text)
			copied = end
		}
		at = end
	}
	if copied == 0 {
		return data
	}
	out.Write(data[copied:])
	return out.Bytes()
}

// jsonMasker goes through the tokens of a JSON value.
type jsonMasker struct {
	mask func(string) string
	open []container
}

// container is an object or a list that has not ended.
type container struct {
	object bool
	named  bool   // of an object: the name of the next value was read
	key    string // of the value; a list passes its own name on
}

// next takes a token. It returns what stands in its place if that is changed.
func (m *jsonMasker) next(token json.Token) (shown string, changed bool) {
	var in container
	if n := len(m.open); n > 0 {
		in = m.open[n-1]
	}
	if name, ok := token.(string); ok && in.object && !in.named {
		m.open[len(m.open)-1].named, m.open[len(m.open)-1].key = true, name
		return "", false
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' || v == '[' {
			m.open = append(m.open, container{object: v == '{', key: in.key})
			return "", false
		}
		m.open = m.open[:len(m.open)-1]
	case json.Number:
		if named(in.key, v.String(), m.mask) {
			shown, changed = masked, true
		}
	case string:
		shown = m.mask(v)
		if shown != masked && named(in.key, shown, m.mask) {
			shown = masked
		}
		changed = shown != v
	}
	if n := len(m.open); n > 0 {
		m.open[n-1].named = false // the value has ended
	}
	return shown, changed
}

// named reports whether the mask finds a value by the name that it stands under,
// as in password=…
func named(key, value string, mask func(string) string) bool {
	if key == "" || value == "" {
		return false
	}
	line := key + "=" + value
	if mask(line) != line {
		return true
	}
	quoted, _ := json.Marshal(map[string]string{key: value}) // texts can always be encoded
	return mask(string(quoted)) != string(quoted)
}
