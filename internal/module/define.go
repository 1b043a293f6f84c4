package module

import (
	"encoding/json"
	"strings"

	"callgate/tool"
)

// Definition declares one tool in a module's source file. JSON is written as
// string constants there, so the fields for it are strings.
type Definition struct {
	Name, Short   string
	Doc           string // the description that a model reads, from the .md file beside the source
	Input, Output string // JSON Schemas; an empty Output promises nothing
	Examples      []tool.Example
	Aliases, Tags []string
	Runtime       tool.Runtime
	Handler       tool.Handler
}

// Tool returns the tool as version 1.0.0 in a module's namespace.
func (d Definition) Tool(namespace string) *tool.Tool {
	t := &tool.Tool{
		ID: tool.ID{Namespace: namespace, Name: d.Name, Version: tool.Version{Major: 1}},
		Spec: tool.Spec{
			Short: d.Short, Description: strings.TrimSpace(d.Doc),
			Input: json.RawMessage(d.Input), Output: json.RawMessage(d.Output),
			Examples: d.Examples, Aliases: d.Aliases, Tags: d.Tags,
		},
		Runtime: d.Runtime, Handler: d.Handler,
	}
	t.Spec.Name = t.ID.Dotted()
	return t
}

// Example returns an example call of a tool. The arguments are JSON.
func Example(note, args string) tool.Example {
	return tool.Example{Note: note, Args: json.RawMessage(args)}
}

// Args decodes a call's arguments, which the kernel has already checked against
// the schema. An error names the operation op.
func Args[In any](op string, call tool.Call) (in In, err error) {
	err = tool.DecodeArgs(op, call.Args, &in)
	return in, err
}
