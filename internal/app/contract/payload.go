package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"callgate/internal/gate/schema"
	"callgate/tool"
)

// Payload checks the body of an event against a schema, and returns it as the schema wants
// it: values are read as those of calls are, and defaults are filled in. What is not JSON
// is a text; nothing is an empty object.
func Payload(wants json.RawMessage, body []byte) ([]byte, error) {
	const op = "contract.Payload"
	s, err := schema.Compile(wants)
	if err != nil {
		return nil, err
	}
	value, isText := json.RawMessage(bytes.TrimSpace(body)), false
	if len(value) > 0 && !json.Valid(value) {
		isText = true
		if value, err = json.Marshal(string(body)); err != nil {
			return nil, err
		}
	}
	checked, err := s.Check(value, schema.Lenient)
	var e *tool.Error
	switch {
	case errors.As(err, &e):
		why := strings.Replace(e.Message, "the arguments", "it", 1)
		if isText {
			why = "it is not JSON; " + why
		}
		return nil, &tool.Error{
			Op: op, Kind: tool.Invalid, Message: "the payload is not what the app takes: " + why, Fields: e.Fields,
			Hint: "its schema is " + tool.TruncateTo(string(wants), 1000),
		}
	case err != nil:
		return nil, err
	case isText || bytes.Equal(checked.Args, value):
		return body, nil
	}
	return checked.Args, nil
}
