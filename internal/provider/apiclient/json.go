package apiclient

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math/big"
	"strings"

	"callgate/llm"
)

// encodeJSON writes a value as JSON, with the characters <, > and & as they are.
func encodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

// Decode reads a piece of a response into v. A field of another type than v has is left out and the
// others are read, since providers disagree about fields that do not matter here.
func Decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil || errors.As(err, new(*json.UnmarshalTypeError)) {
		return nil
	}
	start := strings.ToValidUTF8(string(data[:min(len(data), 80)]), "")
	return errors.New("the response holds a piece that is not JSON: " + start)
}

// Schema returns the schema of a tool's arguments. Providers want one for every tool; a tool without any
// has no arguments.
func Schema(def llm.ToolDef) json.RawMessage {
	if len(def.Schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return def.Schema
}

// Args turns the arguments of a call as a model wrote them into those of an [llm.ToolCall]. An object
// inside a JSON string is taken out of it.
func Args(text string) json.RawMessage {
	raw := bytes.TrimSpace([]byte(text))
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	if !json.Valid(raw) {
		quoted, _ := json.Marshal(text) // a string can always be encoded
		return quoted
	}
	var inner string
	if raw[0] == '"' && json.Unmarshal(raw, &inner) == nil {
		if in := strings.TrimSpace(inner); strings.HasPrefix(in, "{") && json.Valid([]byte(in)) {
			return json.RawMessage(in)
		}
	}
	return raw
}

// ShortID returns an id of n letters and digits in place of one that a provider does not accept. The same
// id always gives the same short one, so that a call and its result still match.
func ShortID(id string, n int) string {
	sum := sha256.Sum256([]byte(id))
	digits := new(big.Int).SetBytes(sum[:]).Text(36)
	return (strings.Repeat("0", n) + digits)[len(digits):][:n]
}
