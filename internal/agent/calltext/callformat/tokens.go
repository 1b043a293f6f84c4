package callformat

import (
	"encoding/json"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// readSections reads the calls of DeepSeek, Kimi and Step: each between a pair of
// tokens, and all of them between another pair.
func readSections(in *Input, i int) ([]llm.ToolCall, int) {
	var calls []llm.ToolCall
	end, k := i, i
	for {
		k = in.Space(k)
		name, after := in.token(k)
		switch name {
		case "tool_calls_begin", "tool_calls_section_begin":
			k = after
		case "tool_call_begin":
			some, e := readSection(in, in.Space(after))
			if len(some) == 0 {
				return calls, end
			}
			calls, end, k = append(calls, some...), e, e
		case "tool_call_end", "tool_calls_end", "tool_calls_section_end":
			if len(calls) == 0 {
				return nil, i
			}
			end, k = after, after
		default:
			return calls, end
		}
	}
}

var sectionEnds = []string{
	"<|tool_call_end|>", "<｜tool▁call▁end｜>", "<｜tool_call_end｜>",
	"<|tool_calls_section_end|>", "<｜tool▁calls▁end｜>", "<|tool_call_begin|>",
}

// readSection reads one call between its tokens. Older models write a type before
// the name.
func readSection(in *Input, i int) ([]llm.ToolCall, int) {
	k := in.Word(i)
	head := in.S[i:k]
	if sep, after := in.token(in.Space(k)); sep == "tool_sep" || sep == "tool_call_argument_begin" {
		k = in.Space(after)
		if in.At(k) == '<' && in.After(k, sectionEnds) == 0 {
			return readTagged(in, k)
		}
		if e := in.Word(k); e > k && sep == "tool_sep" {
			head, k = in.S[k:e], in.Space(e)
		}
	} else {
		k = in.Space(k)
	}
	name := in.name(head)
	if name == "" {
		return nil, i
	}
	if in.End(k) {
		return in.truncatedCall(name, ""), k
	}
	if in.After(k, sectionEnds) > 0 {
		return []llm.ToolCall{{Name: name, Args: json.RawMessage("{}")}}, k
	}
	args, end, ok := readArguments(in, k, sectionEnds)
	if !ok {
		return nil, i
	}
	return []llm.ToolCall{{Name: name, Args: args}}, end
}

// readMistral reads both formats of Mistral: a list of objects, and a name with
// arguments.
func readMistral(in *Input, i int) ([]llm.ToolCall, int) {
	if !in.Has(i, "[TOOL_CALLS]") {
		return nil, i
	}
	k := in.Space(i + len("[TOOL_CALLS]"))
	if c := in.At(k); c == '[' || c == '{' {
		return readItem(in, k, []string{"</s>", "[TOOL_CALLS]"})
	}
	e := in.Word(k)
	name := in.name(in.S[k:e])
	if name == "" {
		return nil, i
	}
	k = in.Space(e)
	if in.Has(k, "[CALL_ID]") {
		if k = in.Near(k, "[ARGS]", 200); k < 0 {
			return in.truncatedCall(name, ""), len(in.S)
		}
	}
	if in.Has(k, "[ARGS]") {
		k = in.Space(k + len("[ARGS]"))
	}
	if in.End(k) {
		return in.truncatedCall(name, ""), k
	}
	args, end, ok := readArguments(in, k, []string{"</s>", "[TOOL_CALLS]"})
	if !ok {
		return nil, i
	}
	return []llm.ToolCall{{Name: name, Args: args}}, end
}

// readKimi reads Kimi's newer format, in which tokens stand for brackets.
func readKimi(in *Input, i int) ([]llm.ToolCall, int) {
	k, ok := kimiOpen(in, i, "tools")
	if !ok {
		return nil, i
	}
	var calls []llm.ToolCall
	for {
		t, next, ok := kimiTag(in, in.Space(k), "call")
		if !ok {
			break
		}
		name := in.name(t.attr("tool"))
		if name == "" {
			return nil, i
		}
		args := &laxjson.Node{Kind: '{'}
		from := next
		for {
			arg, start, ok := kimiTag(in, in.Space(next), "argument")
			if !ok {
				break
			}
			to := in.Index(start, "<|close|>argument<|sep|>")
			if to < 0 {
				return append(calls, in.truncatedCall(name, in.S[from:])...), len(in.S)
			}
			args.Keys = append(args.Keys, arg.attr("key"))
			args.Children = append(args.Children, typed(arg, in.S[start:to]))
			next = to + len("<|close|>argument<|sep|>")
		}
		calls = append(calls, llm.ToolCall{Name: name, Args: args.JSON("")})
		if k = next; in.Has(in.Space(k), "<|close|>call<|sep|>") {
			k = in.Space(k) + len("<|close|>call<|sep|>")
		}
	}
	for _, end := range []string{"<|close|>tools<|sep|>", "<|close|>message<|sep|>"} {
		if len(calls) > 0 && in.Has(in.Space(k), end) {
			k = in.Space(k) + len(end)
		}
	}
	return calls, k
}

func kimiOpen(in *Input, i int, name string) (end int, ok bool) {
	mark := "<|open|>" + name + "<|sep|>"
	return i + len(mark), in.Has(i, mark)
}

func kimiTag(in *Input, i int, name string) (t tag, end int, ok bool) {
	mark := "<|open|>" + name + " "
	if !in.Has(i, mark) {
		return t, i, false
	}
	k := in.Near(i+len(mark), "<|sep|>", 400)
	if k < 0 {
		return t, i, false
	}
	t.attrs = " " + in.S[i+len(mark):k]
	return t, k + len("<|sep|>"), true
}

const minimaxMark = "]<]minimax[>["

// readMinimax reads Minimax's format: a mark before every tag distinguishes tags
// from text, so values may contain values.
func readMinimax(in *Input, i int) ([]llm.ToolCall, int) {
	if !in.Has(i, minimaxMark+"<tool_call>") {
		return nil, i
	}
	var calls []llm.ToolCall
	end := i + len(minimaxMark+"<tool_call>")
	for {
		k := in.Space(end)
		if in.Has(k, minimaxMark+"</tool_call>") {
			return calls, k + len(minimaxMark+"</tool_call>")
		}
		if !in.Has(k, minimaxMark) {
			return calls, end
		}
		t, ok := in.tag(k + len(minimaxMark))
		name := in.name(t.attr("name"))
		if !ok || t.name != "invoke" || name == "" {
			return calls, end
		}
		args, e, ok := readMinimaxValue(in, t.end, "invoke", 0)
		if !ok {
			return append(calls, in.truncatedCall(name, in.S[t.end:])...), len(in.S)
		}
		if args.Kind != '{' {
			args = &laxjson.Node{Kind: '{'}
		}
		calls, end = append(calls, llm.ToolCall{Name: name, Args: args.JSON("")}), e
	}
}

// readMinimaxValue reads the value of an element up to its end tag: text, or
// elements, which are a list if they are all items.
func readMinimaxValue(in *Input, i int, name string, depth int) (*laxjson.Node, int, bool) {
	n := &laxjson.Node{Kind: '['}
	end := minimaxMark + "</" + name + ">"
	k := i
	for depth < laxjson.MaxDepth {
		if !in.Has(in.Space(k), minimaxMark+"<") || in.Has(in.Space(k), minimaxMark+"</") {
			break
		}
		t, ok := in.tag(in.Space(k) + len(minimaxMark))
		if !ok {
			return n, k, false
		}
		child, e, ok := readMinimaxValue(in, t.end, t.full, depth+1)
		if !ok {
			return n, k, false
		}
		if t.full != "item" {
			n.Kind = '{'
		}
		n.Keys, n.Children, k = append(n.Keys, t.full), append(n.Children, child), e
	}
	if len(n.Children) > 0 && in.Has(in.Space(k), end) {
		return n, in.Space(k) + len(end), true
	}
	e := in.Index(k, end)
	if e < 0 || len(n.Children) > 0 {
		return n, k, false
	}
	return plain(in.S[i:e]), e + len(end), true
}
