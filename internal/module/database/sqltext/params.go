package sqltext

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// Params holds the values of a statement: a list or an object, not both. A value
// is nil, bool, string, json.Number, []byte, or json.RawMessage for an object or
// a list.
type Params struct {
	List  []any
	Named map[string]any
}

// errParams says what the values of a statement may be. What the decoder says is about
// Go's types.
var errParams = errors.New(`it must be a list, such as [1, "a"], or an object, such as {"name": "a"}`)

// ParseParams reads the values of a statement from JSON: a list, an object, or
// null or nothing for no values.
func ParseParams(raw json.RawMessage) (p Params, err error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return p, nil
	case raw[0] == '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return p, errParams
		}
		p.List, err = ParseValues(list)
		return p, err
	default:
		var named map[string]json.RawMessage
		if json.Unmarshal(raw, &named) != nil {
			return p, errParams
		}
		p.Named = make(map[string]any, len(named))
		for name, v := range named {
			if p.Named[name], err = ParseValue(v); err != nil {
				return p, fmt.Errorf("%.60q: %w", name, err)
			}
		}
		return p, nil
	}
}

// ParseValues reads several values.
func ParseValues(list []json.RawMessage) ([]any, error) {
	values := make([]any, len(list))
	for i, v := range list {
		var err error
		if values[i], err = ParseValue(v); err != nil {
			return nil, fmt.Errorf("value %d: %w", i+1, err)
		}
	}
	return values, nil
}

// ParseValue reads one value of valid JSON. A number keeps its digits, and
// {"base64": "…"} is bytes.
func ParseValue(raw json.RawMessage) (any, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, errors.New("a value is missing")
	}
	switch raw[0] {
	case 'n':
		return nil, nil
	case 't', 'f':
		return raw[0] == 't', nil
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return nil, errors.New("it is not a JSON value")
		}
		return s, nil
	case '{':
		if blob, ok := parseBlob(raw); ok {
			data, err := base64.StdEncoding.DecodeString(blob)
			if err != nil {
				return nil, errors.New(`its "base64" is not base64`)
			}
			return data, nil
		}
		return raw, nil
	case '[':
		return raw, nil
	default:
		return json.Number(raw), nil
	}
}

// parseBlob returns the text of {"base64": "…"}, with or without the number of
// bytes that a result adds.
func parseBlob(raw json.RawMessage) (text string, ok bool) {
	var blob struct {
		Base64 *string `json:"base64"`
		Bytes  int     `json:"bytes"`
	}
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if strict.Decode(&blob) != nil || blob.Base64 == nil {
		return "", false
	}
	return *blob.Base64, true
}
