package calltext

import (
	"strings"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// tokens are the special tokens that open a list of calls, and the marks that
// close it. A model may leave the closing mark out.
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

// strayTokens are marks that close what was opened before, or never.
var strayTokens = []string{
	"</tool_call>", "</tool_calls>", "</function>", "</function_calls>", "</function_call>",
	"<|call|>", "<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|eom|>", "<|eot|>", "<|end|>", "<|endoftext|>", "</s>",
}

// markup reads the calls that marked text at i asks for, and where it ends. No
// calls, no markup.
func (in *input) markup(i int) ([]llm.ToolCall, int) {
	if in.depth++; in.depth > 5 {
		in.depth--
		return nil, i
	}
	defer func() { in.depth-- }()
	var calls []llm.ToolCall
	end := i
	switch in.At(i) {
	case '[':
		calls, end = in.mistral(i)
	case ']':
		calls, end = in.minimax(i)
	case '<':
		if next := in.At(i + 1); next == '|' || next == 0xEF {
			calls, end = in.special(i)
		}
		if len(calls) == 0 {
			calls, end = in.tagged(i)
		}
	}
	if len(calls) == 0 {
		return nil, i
	}
	return calls, in.tidy(end)
}

// tidy is the end of the leftovers from i on.
func (in *input) tidy(i int) int {
	for k := i; k > 0; k = in.After(in.Space(i), strayTokens) {
		i = k
	}
	return i
}

// token is the name of the special token at i, with plain bars and underscores,
// and its end. It is "" if there is none.
func (in *input) token(i int) (name string, end int) {
	k := i + 1
	if in.At(i) != '<' {
		return "", i
	}
	if k = in.bar(k); k == 0 {
		return "", i
	}
	for n := k; n < k+48; n++ {
		if in.End(n) || in.S[n] == '<' || in.S[n] == '\n' || in.S[n] == '>' {
			return "", i
		}
		if e := in.bar(n); e > 0 && in.At(e) == '>' {
			return strings.ReplaceAll(in.S[k:n], "▁", "_"), e + 1
		}
	}
	return "", i
}

// bar is the place behind a bar at i, plain or wide, or 0.
func (in *input) bar(i int) int { return in.After(i, []string{"|", "｜"}) }

// special reads what special tokens mark.
func (in *input) special(i int) ([]llm.ToolCall, int) {
	if in.Has(i, "<|tool_call>") { // Gemma
		return in.items(i+len("<|tool_call>"), []string{"<tool_call|>"})
	}
	name, end := in.token(i)
	switch name {
	case "":
		return nil, i
	case "tool_calls_begin", "tool_calls_section_begin", "tool_call_begin":
		return in.sections(i)
	case "start", "channel":
		return in.harmony(i)
	case "open":
		return in.opened(i)
	case "message_sep": // GigaChat
		k := in.Space(end)
		if !in.Has(k, "function call") {
			return nil, i
		}
		if k = in.Space(k + len("function call")); !in.Has(k, "<|role_sep|>") {
			return nil, i
		}
		return in.items(k+len("<|role_sep|>"), nil)
	case "action_start":
		if next, k := in.token(end); next == "plugin" || next == "interpreter" {
			end = k
		}
	}
	ends, ok := tokens[name]
	if !ok {
		return nil, i
	}
	return in.items(end, ends)
}

// tagged reads an element that is a call, or holds some.
func (in *input) tagged(i int) ([]llm.ToolCall, int) {
	t, ok := in.tag(i)
	if !ok || t.closing {
		return nil, i
	}
	if elements[t.name] {
		return in.element(t)
	}
	if !containers[t.name] || t.equals {
		return nil, i
	}
	ends := []string{"</" + t.full + ">", "<" + t.full + "|>"}
	if calls, end := in.items(t.end, ends); len(calls) > 0 {
		return calls, end
	}
	return in.element(t) // one with a name and arguments inside
}

// items reads the calls from i on, one after the other, in whatever form, up to
// the mark that ends them, if it is there.
func (in *input) items(i int, ends []string) ([]llm.ToolCall, int) {
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
		some, e := in.item(k, ends)
		if len(some) == 0 {
			return calls, end
		}
		calls, end = append(calls, some...), e
	}
}

func (in *input) item(i int, ends []string) ([]llm.ToolCall, int) {
	switch c := in.At(i); {
	case c == '[':
		if k := in.Space(i + 1); laxjson.IsLetter(in.At(k)) {
			return in.pythonList(i, ends)
		}
		fallthrough
	case c == '{':
		n, end, ok := in.read(i, ends)
		if !ok {
			return nil, i
		}
		return in.calls(n, end, false), end
	case c == '<':
		if in.After(i, ends) > 0 {
			return nil, i
		}
		return in.markup(i)
	case c == '`':
		k := in.unfence(i)
		if k == i || in.At(k) == '`' {
			return nil, i
		}
		some, end := in.item(k, append([]string{"```"}, ends...))
		if e := in.Space(end); in.Has(e, "```") {
			end = e + 3
		}
		return some, end
	case laxjson.IsLetter(c):
		return in.named(i, ends)
	}
	return nil, i
}

// unfence is the place behind the line that opens a fence at i, or i.
func (in *input) unfence(i int) int {
	if !in.Has(i, "```") {
		return i
	}
	k := in.Word(i + 3)
	return in.Space(k)
}

// named reads a call that begins with the bare name of a tool.
func (in *input) named(i int, ends []string) ([]llm.ToolCall, int) {
	if in.Has(i, "call:") { // Gemma
		i += len("call:")
	}
	k := in.Word(i)
	name := in.name(in.S[i:k])
	if name == "" {
		return nil, i
	}
	if in.At(k) == '(' {
		return in.pythonCall(i, ends)
	}
	k = in.Space(k)
	for _, sep := range []string{"<tool_sep>", "<｜tool_sep｜>"} { // Hunyuan
		if in.Has(k, sep) {
			k = in.Space(k + len(sep))
		}
	}
	switch {
	case in.Has(k, "<arg_key>"):
		return in.pairs(name, k, ends)
	case in.After(k, ends) > 0:
		return []llm.ToolCall{{Name: name, Args: []byte("{}")}}, k
	}
	args, end, ok := in.arguments(k, ends)
	if !ok {
		return nil, i
	}
	return []llm.ToolCall{{Name: name, Args: args}}, end
}

// pairs reads GLM's keys and values.
func (in *input) pairs(name string, i int, ends []string) ([]llm.ToolCall, int) {
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
