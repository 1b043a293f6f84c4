package callformat

import (
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// The keys that models use for the same thing, the best first.
var (
	nameKeys = []string{"name", "tool", "function", "action", "tool_name", "recipient_name", "function_name"}
	argKeys  = []string{"arguments", "params", "args", "parameters", "input", "tool_input", "action_input"}
	listKeys = []string{"tool_calls", "tool_uses", "function_calls", "calls", "tool_call", "function_call"}
	restKeys = []string{"id", "type", "index", "tool_call_id", "call_id", "thought", "failed_generation", "error"}
)

// callKey reports whether an object that begins with this key may be a call.
func callKey(key string) bool {
	return slices.Contains(nameKeys, key) || slices.Contains(argKeys, key) ||
		slices.Contains(listKeys, key) || slices.Contains(restKeys, key)
}

// readValue reads the value at i, which markup ends. If the value is broken, it reads
// the part before the first of ends. ok is false if no end was found.
func readValue(in *Input, i int, ends []string) (n *laxjson.Node, end int, ok bool) {
	n, ok = (&laxjson.Reader{In: &in.Text, Stops: ends}).Value(i)
	if ok {
		return n, n.To, true
	}
	if k := in.First(i, ends); k >= 0 {
		sub := &laxjson.Text{S: in.S[:k], Final: true}
		n, _ = (&laxjson.Reader{In: sub, Seal: true}).Value(i)
		return n, k, true
	}
	return n, len(in.S), n.To >= len(in.S)
}

// readArguments reads the arguments at i as JSON, in a fence or not. They may be
// broken if one of ends follows, or if the text breaks off.
func readArguments(in *Input, i int, ends []string) (json.RawMessage, int, bool) {
	start := in.unfence(i)
	if in.At(start) != '{' {
		return nil, i, false
	}
	fenced := start > i
	if fenced {
		ends = append([]string{"```"}, ends...)
	}
	n, end, ok := readValue(in, start, ends)
	if !ok {
		return nil, i, false
	}
	args := argsOf(in, n, end)
	if k := in.Space(end); fenced && in.Has(k, "```") {
		end = k + 3
	}
	return args, end, true
}

// callsIn returns the calls that a value contains. till is the end of its text. In
// strict mode a call needs a name and arguments. Otherwise, inside markup, a name
// alone is enough, and the arguments may stand beside it.
func callsIn(in *Input, n *laxjson.Node, till int, strict bool) []llm.ToolCall {
	switch n.Kind {
	case '[':
		var all []llm.ToolCall
		for _, child := range n.Children {
			some := callsIn(in, child, till, strict)
			if len(some) == 0 && !child.Open {
				return nil
			}
			all = append(all, some...)
		}
		return all
	case '{':
		return objectCalls(in, n, till, strict)
	}
	return nil
}

func objectCalls(in *Input, n *laxjson.Node, till int, strict bool) []llm.ToolCall {
	for _, key := range listKeys {
		if child := n.Get(key); child != nil && (child.Kind == '[' || child.Kind == '{') {
			return callsIn(in, child, till, strict)
		}
	}
	if some := failedCalls(in, n); some != nil {
		return some
	}
	if isDefinition(n) {
		return nil
	}
	name, inner := calledTool(in, n)
	if inner != nil {
		return callsIn(in, inner, till, strict)
	}
	for _, key := range argKeys {
		if child := n.Get(key); child != nil && name != "" {
			if strict && child.Kind != '{' && child.Kind != '"' {
				return nil
			}
			return []llm.ToolCall{{Name: name, Args: argsOf(in, child, till)}}
		}
	}
	switch {
	case name == "":
		return keyedCall(in, n, till, strict)
	case n.Open:
		return in.truncatedCall(name, "")
	case strict:
		return nil
	}
	return []llm.ToolCall{{Name: name, Args: argsBeside(n)}}
}

// calledTool returns the name of the tool that an object calls, or the inner object
// that contains the whole call.
func calledTool(in *Input, n *laxjson.Node) (name string, inner *laxjson.Node) {
	for _, key := range nameKeys {
		child := n.Get(key)
		switch {
		case child == nil:
		case child.Kind == '{':
			hasArgs := slices.ContainsFunc(argKeys, func(key string) bool { return child.Get(key) != nil })
			if hasArgs || child.Open || len(n.Keys) == 1 {
				return "", child
			}
			return calledTool(in, child)
		case child.Kind == '"' && !child.Open:
			// A name with escapes does not stand in the text as such.
			if name = in.name(child.Text); strings.Contains(in.S[child.From:child.To], name) {
				return name, nil
			}
			return "", nil
		}
	}
	return "", nil
}

// keyedCall returns a call written as {name: {arguments}}.
func keyedCall(in *Input, n *laxjson.Node, till int, strict bool) []llm.ToolCall {
	if strict || len(n.Keys) != 1 || n.Children[0].Kind != '{' || callKey(n.Keys[0]) {
		return nil
	}
	name := in.name(n.Keys[0])
	if name == "" {
		return nil
	}
	return []llm.ToolCall{{Name: name, Args: argsOf(in, n.Children[0], till)}}
}

// argsBeside returns the arguments that stand beside the name.
func argsBeside(n *laxjson.Node) json.RawMessage {
	rest := &laxjson.Node{Kind: '{'}
	for i, key := range n.Keys {
		if !callKey(key) {
			rest.Keys, rest.Children = append(rest.Keys, key), append(rest.Children, n.Children[i])
		}
	}
	return rest.JSON("")
}

// argsOf returns the arguments that a value holds.
func argsOf(in *Input, n *laxjson.Node, till int) json.RawMessage {
	switch {
	case n.Open:
		return laxjson.Quoted(strings.TrimSpace(in.S[n.From:max(till, n.From)]))
	case n.Kind == '"':
		return textArgs(n.Text)
	case n.Kind == 'w' && n.Text == "null":
		return json.RawMessage("{}")
	}
	return n.JSON(in.S)
}

// textArgs returns arguments that were written as a string.
func textArgs(text string) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed == "null" {
		return json.RawMessage("{}")
	}
	inner := &laxjson.Text{S: trimmed, Final: true}
	n, ok := (&laxjson.Reader{In: inner}).Value(0)
	if ok && n.Kind == '{' && n.To == len(trimmed) {
		return n.JSON(trimmed)
	}
	return laxjson.Quoted(text)
}

// failedCalls returns the calls in a text that a provider reports as unparsable.
func failedCalls(in *Input, n *laxjson.Node) []llm.ToolCall {
	if inner := n.Get("error"); inner != nil && inner.Kind == '{' {
		n = inner
	}
	text := n.Get("failed_generation")
	if text == nil || text.Open || text.Kind != '"' || in.Depth > 2 {
		return nil
	}
	calls := in.Nested(text.Text, in.Known, in.Depth+1)
	written := in.S[text.From:text.To]
	if slices.ContainsFunc(calls, func(c llm.ToolCall) bool { return !strings.Contains(written, c.Name) }) {
		return nil
	}
	return calls
}

// isDefinition reports whether an object describes a tool rather than calls it.
func isDefinition(n *laxjson.Node) bool {
	if n.Get("input_schema") != nil || n.Get("inputSchema") != nil {
		return true
	}
	fields := n.Get("parameters")
	return fields != nil && (n.Get("description") != nil || isSchema(fields))
}

// isSchema reports whether an object looks like the schema of arguments rather than
// arguments.
func isSchema(n *laxjson.Node) bool {
	kind, fields := n.Get("type"), n.Get("properties")
	return kind != nil && kind.Text == "object" && fields != nil && fields.Kind == '{'
}
