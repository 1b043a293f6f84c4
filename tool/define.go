package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Basic is the least a Go type must have to be a tool. It may also have
// Description() string.
type Basic interface {
	Name() string // dotted: namespace.name
	Schema() json.RawMessage
	Execute(ctx context.Context, input json.RawMessage) (json.RawMessage, error)
}

// FromBasic makes a Basic a tool, version 1.0.0. The runtime view is the
// caller's to give; its zero value is safe.
func FromBasic(b Basic, r Runtime) (*Tool, error) {
	namespace, name, err := ParseDotted(b.Name())
	if err != nil {
		return nil, err
	}
	description := b.Name()
	if d, ok := b.(interface{ Description() string }); ok {
		description = d.Description()
	}
	t := &Tool{
		ID:      ID{namespace, name, Version{Major: 1}},
		Spec:    Spec{Description: description, Input: b.Schema()},
		Runtime: r,
		Handler: HandlerFunc(func(ctx context.Context, call Call, _ Grant) (*Result, error) {
			data, err := b.Execute(ctx, call.Args)
			if err != nil {
				return nil, err
			}
			return FromJSON(data)
		}),
	}
	t.Spec.Name = t.ID.Dotted()
	return t, t.Validate()
}

// FromJSON makes a raw JSON answer a result. An object that already has the
// shape of the envelope (a status the envelope knows, and a summary) is taken
// as one; anything else becomes the data of a success.
func FromJSON(data json.RawMessage) (*Result, error) {
	if len(data) == 0 {
		return &Result{Status: Success, Summary: "done"}, nil
	}
	if !json.Valid(data) {
		return nil, Errorf("tool.FromJSON", Failed, "the tool answered with text that is not JSON: %q",
			Truncate(string(data)))
	}
	var r Result
	if json.Unmarshal(data, &r) == nil && r.Summary != "" {
		switch r.Status {
		case Success, Failure, Refused:
			return &r, nil
		}
	}
	return &Result{Status: Success, Summary: summarize(data), Data: data}, nil
}

// Func makes a plain typed Go function a tool, version 1.0.0. In is a struct;
// its fields give the input schema (json tags name them, omitempty makes them
// optional, a jsonschema tag describes them), and Out gives the output schema
// when it is a struct too.
func Func[In, Out any](name, description string, r Runtime, fn func(context.Context, In) (Out, error)) (*Tool, error) {
	const op = "tool.Func"
	namespace, action, err := ParseDotted(name)
	if err != nil {
		return nil, err
	}
	input, err := inferObject[In]()
	if err != nil {
		return nil, &Error{Op: op, Kind: Invalid,
			Message: fmt.Sprintf("no input schema for %s can be drawn from %T", name, *new(In)), Err: err}
	}
	output, err := inferObject[Out]()
	if err != nil {
		output = nil // Out is a plain value: any JSON will do
	}
	t := &Tool{
		ID:      ID{namespace, action, Version{Major: 1}},
		Spec:    Spec{Description: description, Input: input, Output: output},
		Runtime: r,
		Handler: HandlerFunc(func(ctx context.Context, call Call, _ Grant) (*Result, error) {
			var in In
			if err := DecodeArgs(name, call.Args, &in); err != nil {
				return nil, err
			}
			out, err := fn(ctx, in)
			if err != nil {
				return nil, err
			}
			data, err := json.Marshal(out)
			if err != nil {
				return nil, &Error{Op: op, Kind: Internal,
					Message: "the answer of " + name + " cannot be written as JSON", Err: err}
			}
			return &Result{Status: Success, Summary: summarize(data), Data: data}, nil
		}),
	}
	t.Spec.Name = name
	return t, t.Validate()
}

func inferObject[T any]() (json.RawMessage, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("its schema is not an object")
	}
	return json.Marshal(s)
}

// summarize is one line for a JSON value.
func summarize(data json.RawMessage) string {
	text := strings.TrimSpace(string(data))
	if len(text) <= 120 {
		return text
	}
	return Truncate(text)
}
