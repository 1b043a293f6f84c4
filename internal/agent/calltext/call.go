package calltext

import (
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// The keys by which models say the same thing, best first.
var (
	nameKeys = []string{"name", "tool", "function", "action", "tool_name", "recipient_name", "function_name"}
	argKeys  = []string{"arguments", "params", "args", "parameters", "input", "tool_input", "action_input"}
	listKeys = []string{"tool_calls", "tool_uses", "function_calls", "calls", "tool_call", "function_call"}
	restKeys = []string{"id", "type", "index", "tool_call_id", "call_id", "thought", "failed_generation", "error"}
)

// callKey tells whether an object that begins with this key may be a call.
func callKey(key string) bool {
	return slices.Contains(nameKeys, key) || slices.Contains(argKeys, key) ||
		slices.Contains(listKeys, key) || slices.Contains(restKeys, key)
}

// read reads the value at i that markup ends: where it is broken, as much of it
// as there is before the first of ends. ok is false if no end of it was found.
func (in *input) read(i int, ends []string) (n *laxjson.Node, end int, ok bool) {
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

// calls are the calls that a value asks for. till is where its text ends. A
// strict reading wants a name and arguments; a lax one, for what stands in
// markup, takes a name alone, or arguments beside it.
func (in *input) calls(n *laxjson.Node, till int, strict bool) []llm.ToolCall {
	switch n.Kind {
	case '[':
		var all []llm.ToolCall
		for _, kid := range n.Children {
			some := in.calls(kid, till, strict)
			if len(some) == 0 && !kid.Open {
				return nil
			}
			all = append(all, some...)
		}
		return all
	case '{':
		return in.object(n, till, strict)
	}
	return nil
}

func (in *input) object(n *laxjson.Node, till int, strict bool) []llm.ToolCall {
	for _, key := range listKeys {
		if kid := n.Get(key); kid != nil && (kid.Kind == '[' || kid.Kind == '{') {
			return in.calls(kid, till, strict)
		}
	}
	if some := in.failed(n); some != nil {
		return some
	}
	if definition(n) {
		return nil
	}
	name, inner := in.called(n)
	if inner != nil {
		return in.calls(inner, till, strict)
	}
	for _, key := range argKeys {
		if kid := n.Get(key); kid != nil && name != "" {
			if strict && kid.Kind != '{' && kid.Kind != '"' {
				return nil
			}
			return []llm.ToolCall{{Name: name, Args: in.args(kid, till)}}
		}
	}
	switch {
	case name == "":
		return in.keyed(n, till, strict)
	case n.Open:
		return in.truncatedCall(name, "")
	case strict:
		return nil
	}
	return []llm.ToolCall{{Name: name, Args: in.beside(n)}}
}

// called is the name of the tool that an object calls, or an object inside that
// says all of it.
func (in *input) called(n *laxjson.Node) (name string, inner *laxjson.Node) {
	for _, key := range nameKeys {
		kid := n.Get(key)
		switch {
		case kid == nil:
		case kid.Kind == '{':
			if slices.ContainsFunc(argKeys, func(key string) bool { return kid.Get(key) != nil }) || kid.Open || len(n.Keys) == 1 {
				return "", kid
			}
			return in.called(kid)
		case kid.Kind == '"' && !kid.Open:
			// A name that was spelt with escapes does not stand in the text.
			if name = in.name(kid.Text); strings.Contains(in.S[kid.From:kid.To], name) {
				return name, nil
			}
			return "", nil
		}
	}
	return "", nil
}

// truncatedCall is a call that broke off. One of which nothing came but the name must be
// of an offered tool.
func (in *input) truncatedCall(name, came string) []llm.ToolCall {
	if name == "" || came == "" && !in.offered(name) {
		return nil
	}
	return []llm.ToolCall{{Name: name, Args: laxjson.Quoted(came)}}
}

// keyed is a call written as {name: {arguments}}.
func (in *input) keyed(n *laxjson.Node, till int, strict bool) []llm.ToolCall {
	if strict || len(n.Keys) != 1 || n.Children[0].Kind != '{' || callKey(n.Keys[0]) {
		return nil
	}
	name := in.name(n.Keys[0])
	if name == "" {
		return nil
	}
	return []llm.ToolCall{{Name: name, Args: in.args(n.Children[0], till)}}
}

// beside are the arguments that stand beside the name.
func (in *input) beside(n *laxjson.Node) json.RawMessage {
	rest := &laxjson.Node{Kind: '{'}
	for i, key := range n.Keys {
		if !callKey(key) {
			rest.Keys, rest.Children = append(rest.Keys, key), append(rest.Children, n.Children[i])
		}
	}
	return rest.JSON("")
}

// args are the arguments that a value holds.
func (in *input) args(n *laxjson.Node, till int) json.RawMessage {
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

// textArgs are arguments that were written as a string.
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

// failed are the calls in what a provider says that it could not read.
func (in *input) failed(n *laxjson.Node) []llm.ToolCall {
	if inner := n.Get("error"); inner != nil && inner.Kind == '{' {
		n = inner
	}
	text := n.Get("failed_generation")
	if text == nil || text.Open || text.Kind != '"' || in.depth > 2 {
		return nil
	}
	p := Parser{Known: in.known, depth: in.depth + 1}
	p.Write(text.Text)
	_, calls := p.Close()
	if slices.ContainsFunc(calls, func(c llm.ToolCall) bool { return !strings.Contains(in.S[text.From:text.To], c.Name) }) {
		return nil
	}
	return calls
}

// definition tells whether an object describes a tool rather than calls it.
func definition(n *laxjson.Node) bool {
	if n.Get("input_schema") != nil || n.Get("inputSchema") != nil {
		return true
	}
	fields := n.Get("parameters")
	return fields != nil && (n.Get("description") != nil || schema(fields))
}

// schema tells whether an object looks like the schema of arguments rather than
// arguments.
func schema(n *laxjson.Node) bool {
	kind, fields := n.Get("type"), n.Get("properties")
	return kind != nil && kind.Text == "object" && fields != nil && fields.Kind == '{'
}
