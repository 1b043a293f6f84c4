package callformat

import (
	"strings"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// tokens maps the special tokens that open a list of calls to those that close it.
// A model may omit the closing one.
var tokens = map[string][]string{
	"tool_call_start": {"<|tool_call_end|>"},                                   // LFM2
	"tool_call":       {"<|/tool_call|>", "<|tool_call_end|>", "</tool_call>"}, // Granite, Phi
	"tool_calls":      {"<|/tool_calls|>", "</tool_calls>"},
	"function_call":   {"<|/function_call|>"}, // GigaChat
	"tools_prefix":    {"<|tools_suffix|>"},   // Apertus
	"START_ACTION":    {"<|END_ACTION|>"},     // Command
	"python_tag":      {"<|eom_id|>", "<|eot_id|>"},
	"action_start":    {"<|action_end|>"}, // InternLM
}

// containers are the elements that hold calls.
var containers = map[string]bool{
	"tool_call": true, "tool_calls": true, "toolcall": true, "toolcalls": true,
	"function_call": true, "function_calls": true, "functioncall": true, "tool_uses": true,
}

// maxNesting limits markup inside markup.
const maxNesting = 5

// ReadMarkup reads calls in a format with marks of its own: an element, a special
// token, a bracketed token.
func ReadMarkup(in *Input, i int) ([]llm.ToolCall, int) {
	if in.Depth++; in.Depth > maxNesting {
		in.Depth--
		return nil, i
	}
	defer func() { in.Depth-- }()
	var calls []llm.ToolCall
	end := i
	switch in.At(i) {
	case '[':
		calls, end = readMistral(in, i)
	case ']':
		calls, end = readMinimax(in, i)
	case '<':
		if next := in.At(i + 1); next == '|' || next == 0xEF {
			calls, end = readSpecial(in, i)
		}
		if len(calls) == 0 {
			calls, end = readTagged(in, i)
		}
	}
	if len(calls) == 0 {
		return nil, i
	}
	return calls, in.skipStray(end)
}

// readSpecial reads calls that special tokens mark.
func readSpecial(in *Input, i int) ([]llm.ToolCall, int) {
	if in.Has(i, "<|tool_call>") { // Gemma
		return readItems(in, i+len("<|tool_call>"), []string{"<tool_call|>"})
	}
	name, end := in.token(i)
	switch name {
	case "":
		return nil, i
	case "tool_calls_begin", "tool_calls_section_begin", "tool_call_begin":
		return readSections(in, i)
	case "start", "channel":
		return readHarmony(in, i)
	case "open":
		return readKimi(in, i)
	case "message_sep": // GigaChat
		k := in.Space(end)
		if !in.Has(k, "function call") {
			return nil, i
		}
		if k = in.Space(k + len("function call")); !in.Has(k, "<|role_sep|>") {
			return nil, i
		}
		return readItems(in, k+len("<|role_sep|>"), nil)
	case "action_start":
		if next, k := in.token(end); next == "plugin" || next == "interpreter" {
			end = k
		}
	}
	ends, ok := tokens[name]
	if !ok {
		return nil, i
	}
	return readItems(in, end, ends)
}

// readTagged reads an element that is a call or contains calls.
func readTagged(in *Input, i int) ([]llm.ToolCall, int) {
	t, ok := in.tag(i)
	if !ok || t.closing {
		return nil, i
	}
	if elements[t.name] {
		return readElement(in, t)
	}
	if !containers[t.name] || t.equals {
		return nil, i
	}
	ends := []string{"</" + t.full + ">", "<" + t.full + "|>"}
	if calls, end := readItems(in, t.end, ends); len(calls) > 0 {
		return calls, end
	}
	return readElement(in, t) // with a name and arguments inside
}

// readItems reads the calls from i on, one after the other, in any format, up to the
// mark that ends them, if there is one.
func readItems(in *Input, i int, ends []string) ([]llm.ToolCall, int) {
	var calls []llm.ToolCall
	end := i
	for {
		k := in.Space(end)
		if len(calls) > 0 {
			for c := in.At(k); c == ',' || c == ';' || c == '}' || c == ']' || c == ')'; c = in.At(k) {
				k = in.Space(k + 1) // one bracket too many
			}
		}
		if e := in.After(k, ends); e > 0 {
			return calls, e
		}
		some, e := readItem(in, k, ends)
		if len(some) == 0 {
			return calls, end
		}
		calls, end = append(calls, some...), e
	}
}

func readItem(in *Input, i int, ends []string) ([]llm.ToolCall, int) {
	switch c := in.At(i); {
	case c == '[':
		if k := in.Space(i + 1); laxjson.IsLetter(in.At(k)) {
			return readPythonList(in, i, ends)
		}
		fallthrough
	case c == '{':
		n, end, ok := readValue(in, i, ends)
		if !ok {
			return nil, i
		}
		return callsIn(in, n, end, false), end
	case c == '<':
		if in.After(i, ends) > 0 {
			return nil, i
		}
		return ReadMarkup(in, i)
	case c == '`':
		k := in.unfence(i)
		if k == i || in.At(k) == '`' {
			return nil, i
		}
		some, end := readItem(in, k, append([]string{"```"}, ends...))
		if e := in.Space(end); in.Has(e, "```") {
			end = e + 3
		}
		return some, end
	case laxjson.IsLetter(c):
		return readNamed(in, i, ends)
	}
	return nil, i
}

// readNamed reads a call that begins with the bare name of a tool.
func readNamed(in *Input, i int, ends []string) ([]llm.ToolCall, int) {
	if in.Has(i, "call:") { // Gemma
		i += len("call:")
	}
	k := in.Word(i)
	name := in.name(in.S[i:k])
	if name == "" {
		return nil, i
	}
	if in.At(k) == '(' {
		return readPythonCall(in, i, ends)
	}
	k = in.Space(k)
	for _, sep := range []string{"<tool_sep>", "<｜tool_sep｜>"} { // Hunyuan
		if in.Has(k, sep) {
			k = in.Space(k + len(sep))
		}
	}
	switch {
	case in.Has(k, "<arg_key>"):
		return readPairs(in, name, k, ends)
	case in.After(k, ends) > 0:
		return []llm.ToolCall{{Name: name, Args: []byte("{}")}}, k
	}
	args, end, ok := readArguments(in, k, ends)
	if !ok {
		return nil, i
	}
	return []llm.ToolCall{{Name: name, Args: args}}, end
}

// readPairs reads the arguments of GLM's format: keys and values in turn.
func readPairs(in *Input, name string, i int, ends []string) ([]llm.ToolCall, int) {
	args, end := &laxjson.Node{Kind: '{'}, i
	for k := i; in.Has(k, "<arg_key>"); k = in.Space(end) {
		k += len("<arg_key>")
		keyEnd := in.Index(k, "</arg_key>")
		if keyEnd < 0 {
			return in.truncatedCall(name, in.S[i:]), len(in.S)
		}
		from := in.Space(keyEnd + len("</arg_key>"))
		if !in.Has(from, "<arg_value>") {
			if in.End(from) {
				return in.truncatedCall(name, in.S[i:]), len(in.S)
			}
			return nil, i
		}
		from += len("<arg_value>")
		to := in.First(from, append([]string{"</arg_value>", "<arg_key>"}, ends...))
		if to < 0 {
			return in.truncatedCall(name, in.S[i:]), len(in.S)
		}
		args.Keys = append(args.Keys, strings.TrimSpace(in.S[k:keyEnd]))
		args.Children = append(args.Children, plain(in.S[from:to]))
		end = to
		if in.Has(to, "</arg_value>") {
			end += len("</arg_value>")
		}
	}
	return []llm.ToolCall{{Name: name, Args: args.JSON("")}}, end
}
