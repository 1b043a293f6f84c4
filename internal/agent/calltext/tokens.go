package calltext

import (
	"encoding/json"
	"strings"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// arguments reads the arguments at i as JSON, in a fence or not. They may be
// broken if one of ends follows, or the text breaks off.
func (in *input) arguments(i int, ends []string) (json.RawMessage, int, bool) {
	start := in.unfence(i)
	if in.At(start) != '{' {
		return nil, i, false
	}
	fenced := start > i
	if fenced {
		ends = append([]string{"```"}, ends...)
	}
	n, end, ok := in.read(start, ends)
	if !ok {
		return nil, i, false
	}
	args := in.args(n, end)
	if k := in.Space(end); fenced && in.Has(k, "```") {
		end = k + 3
	}
	return args, end, true
}

// sections reads the calls of DeepSeek, Kimi and Step: each between a pair of
// tokens, all of them between another.
func (in *input) sections(i int) ([]llm.ToolCall, int) {
	var calls []llm.ToolCall
	end, k := i, i
	for {
		k = in.Space(k)
		name, after := in.token(k)
		switch name {
		case "tool_calls_begin", "tool_calls_section_begin":
			k = after
		case "tool_call_begin":
			some, e := in.section(in.Space(after))
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
	"<|tool_call_end|>", "<｜tool▁call▁end｜>", "<｜tool_call_end｜>", "<|tool_calls_section_end|>", "<｜tool▁calls▁end｜>", "<|tool_call_begin|>",
}

// section reads one call between its tokens. Older models name a type before
// the name.
func (in *input) section(i int) ([]llm.ToolCall, int) {
	k := in.Word(i)
	head := in.S[i:k]
	if sep, after := in.token(in.Space(k)); sep == "tool_sep" || sep == "tool_call_argument_begin" {
		k = in.Space(after)
		if in.At(k) == '<' && in.After(k, sectionEnds) == 0 {
			return in.tagged(k)
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
	args, end, ok := in.arguments(k, sectionEnds)
	if !ok {
		return nil, i
	}
	return []llm.ToolCall{{Name: name, Args: args}}, end
}

// mistral reads both of its forms: a list of objects, and a name with
// arguments.
func (in *input) mistral(i int) ([]llm.ToolCall, int) {
	if !in.Has(i, "[TOOL_CALLS]") {
		return nil, i
	}
	k := in.Space(i + len("[TOOL_CALLS]"))
	if c := in.At(k); c == '[' || c == '{' {
		return in.item(k, []string{"</s>", "[TOOL_CALLS]"})
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
	args, end, ok := in.arguments(k, []string{"</s>", "[TOOL_CALLS]"})
	if !ok {
		return nil, i
	}
	return []llm.ToolCall{{Name: name, Args: args}}, end
}

// header is the head of one of harmony's messages: to whom, on what channel,
// and where its words begin.
type header struct {
	to, channel string
	end         int
}

func (in *input) header(i int) (header, bool) {
	const mark = "<|message|>"
	k := in.Near(i, mark, 200)
	if k < 0 || strings.ContainsAny(in.S[i:k], "\n{") {
		return header{}, false
	}
	h := header{end: k + len(mark)}
	if _, to, ok := strings.Cut(in.S[i:k], "to="); ok {
		h.to = to[:len(to)-len(strings.TrimLeft(to, nameBytes))]
	}
	if c := strings.LastIndex(in.S[i:k], "<|channel|>"); c >= 0 {
		rest := strings.TrimSpace(in.S[i+c+len("<|channel|>") : k])
		h.channel = rest[:len(rest)-len(strings.TrimLeft(rest, nameBytes))]
	}
	return h, true
}

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-:/"

var harmonyEnds = []string{"<|call|>", "<|end|>", "<|return|>", "<|eom|>", "<|eot|>"}

// harmony reads a message that is addressed to a tool.
func (in *input) harmony(i int) ([]llm.ToolCall, int) {
	h, ok := in.header(i)
	if !ok || h.to == "" {
		return nil, i
	}
	name, ours := in.name(h.to), strings.HasPrefix(h.to, "functions.")
	if name == "" || !ours && (in.known == nil || !in.known(name)) {
		return nil, i // to somebody else: a person, a tool of the model's maker
	}
	k := in.Space(h.end)
	args, end, ok := in.arguments(k, harmonyEnds)
	if !ok {
		if !ours || in.At(k) == '<' {
			return nil, i
		}
		if end = in.First(k, harmonyEnds); end < 0 {
			end = len(in.S)
		}
		args = laxjson.Quoted(strings.TrimSpace(in.S[k:end]))
		if end == k && !in.End(k) {
			args = json.RawMessage("{}")
		}
	}
	if k := in.After(in.Space(end), harmonyEnds); k > 0 {
		end = k
	}
	return []llm.ToolCall{{Name: name, Args: args}}, end
}

// opened reads Kimi's newer form, in which tokens take the place of brackets.
func (in *input) opened(i int) ([]llm.ToolCall, int) {
	k, ok := in.open(i, "tools")
	if !ok {
		return nil, i
	}
	var calls []llm.ToolCall
	for {
		t, next, ok := in.openTag(in.Space(k), "call")
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
			arg, start, ok := in.openTag(in.Space(next), "argument")
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

func (in *input) open(i int, name string) (end int, ok bool) {
	mark := "<|open|>" + name + "<|sep|>"
	return i + len(mark), in.Has(i, mark)
}

func (in *input) openTag(i int, name string) (t tag, end int, ok bool) {
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

// minimax reads the form in which a mark stands before every tag, so that tags
// can be told from text, and values have values inside.
func (in *input) minimax(i int) ([]llm.ToolCall, int) {
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
		args, e, ok := in.marked(t.end, "invoke", 0)
		if !ok {
			return append(calls, in.truncatedCall(name, in.S[t.end:])...), len(in.S)
		}
		if args.Kind != '{' {
			args = &laxjson.Node{Kind: '{'}
		}
		calls, end = append(calls, llm.ToolCall{Name: name, Args: args.JSON("")}), e
	}
}

// marked reads the value of an element up to its end tag: text, or elements,
// which are a list if they are all items.
func (in *input) marked(i int, name string, depth int) (*laxjson.Node, int, bool) {
	n := &laxjson.Node{Kind: '['}
	end := minimaxMark + "</" + name + ">"
	k := i
	for depth < laxjson.MaxDepth && in.Has(in.Space(k), minimaxMark+"<") && !in.Has(in.Space(k), minimaxMark+"</") {
		t, ok := in.tag(in.Space(k) + len(minimaxMark))
		if !ok {
			return n, k, false
		}
		kid, e, ok := in.marked(t.end, t.full, depth+1)
		if !ok {
			return n, k, false
		}
		if t.full != "item" {
			n.Kind = '{'
		}
		n.Keys, n.Children, k = append(n.Keys, t.full), append(n.Children, kid), e
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
