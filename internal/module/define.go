package module

import (
	"encoding/json"
	"strings"

	"callgate/tool"
)

// Definition is one tool as its file in a module writes it down. Texts of JSON
// are constants there, so they are texts here.
type Definition struct {
	Name, Short   string
	Doc           string // what a model reads, from the file beside it
	Input, Output string // JSON Schemas; no Output promises nothing
	Examples      []tool.Example
	Aliases, Tags []string
	Runtime       tool.Runtime
	Handler       tool.Handler
}

// Tool makes the tool, version 1.0.0, of a module.
func (d Definition) Tool(namespace string) *tool.Tool {
	t := &tool.Tool{
		ID: tool.ID{Namespace: namespace, Name: d.Name, Version: tool.Version{Major: 1}},
		Spec: tool.Spec{
			Short: d.Short, Description: strings.TrimSpace(d.Doc), Input: json.RawMessage(d.Input), Output: json.RawMessage(d.Output),
			Examples: d.Examples, Aliases: d.Aliases, Tags: d.Tags,
		},
		Runtime: d.Runtime, Handler: d.Handler,
	}
	t.Spec.Name = t.ID.Dotted()
	return t
}

// Example is a call worth imitating, with its arguments as JSON.
func Example(note, args string) tool.Example {
	return tool.Example{Note: note, Args: json.RawMessage(args)}
}

// Args reads a call's arguments, which the kernel has already held against the
// schema; op is what an error names.
func Args[In any](op string, call tool.Call) (in In, err error) {
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return in, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the arguments do not fit " + op, Err: err}
	}
	return in, nil
}
