package secret

import (
	"encoding/json"
	"slices"

	"callgate/tool"
)

// ScrubError returns an error that may leave this process: without secrets in
// any part of it, and without its cause, whose words join the message.
func (v *Vault) ScrubError(e *tool.Error) *tool.Error {
	e = e.Detach()
	clean := func(text string) string { return v.ScrubText(text).String() }
	e.Op, e.Message, e.Hint = clean(e.Op), clean(e.Message), clean(e.Hint)
	if v.ScrubString(string(e.Kind)) != string(e.Kind) { // a program may print any kind
		e.Kind = tool.Failed
	}
	e.Fields, e.Similar = slices.Clone(e.Fields), slices.Clone(e.Similar)
	for i, f := range e.Fields {
		e.Fields[i] = tool.FieldError{Path: clean(f.Path), Want: clean(f.Want), Got: clean(f.Got)}
	}
	for i, name := range e.Similar {
		e.Similar[i] = clean(name)
	}
	e.Schema, e.Example = v.ScrubJSON(e.Schema), v.ScrubJSON(e.Example)
	return e
}

// ScrubJSON is Scrub for JSON, which it stays: what is not JSON without its
// secrets, such as a number that was one, becomes a text.
func (v *Vault) ScrubJSON(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return data
	}
	clean := v.Scrub(data)
	if !json.Valid(clean) {
		clean, _ = json.Marshal(string(clean)) // a string can always be written
	}
	return clean
}
