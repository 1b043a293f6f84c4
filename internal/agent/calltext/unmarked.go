package calltext

import (
	"slices"
	"strings"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// unmarked reads a call, or a list of them, that has no marks: the object or
// list at i. A value that ends and is no call has an end all the same.
func (in *input) unmarked(i int) ([]llm.ToolCall, int) {
	k := i
	if in.At(i) == '[' {
		k = in.Space(i + 1)
		if laxjson.IsLetter(in.At(k)) {
			calls, end := in.pythonList(i, nil)
			if len(calls) == 0 || in.S[end-1] != ']' && end < len(in.S) {
				return nil, i
			}
			return calls, end
		}
	}
	if in.At(k) != '{' || !in.looksLikeCall(k) {
		return nil, i
	}
	n, ok := (&laxjson.Reader{In: &in.Text}).Value(i)
	if !ok && n.To < len(in.S) {
		return nil, i
	}
	return in.calls(n, n.To, true), n.To
}

// looksLikeCall tells whether the first key of the object at i may be a call's, so
// that other objects need not be waited for.
func (in *input) looksLikeCall(i int) bool {
	k := in.Space(i + 1)
	for _, mark := range []string{`"`, "'", "“", "”"} {
		if in.Has(k, mark) {
			k += len(mark)
			break
		}
	}
	return callKey(strings.TrimSuffix(in.S[min(k, len(in.S)):in.Word(k)], ":"))
}

// allOffered tells whether all of the tools were offered.
func (in *input) allOffered(calls []llm.ToolCall) bool {
	return !slices.ContainsFunc(calls, func(c llm.ToolCall) bool { return !in.offered(c.Name) })
}

// Labels that stand before calls; and those before a name, and before its
// arguments.
var (
	listLabels = []string{
		"tool_calls", "tool calls", "tool_call", "tool call", "function_calls", "function calls", "function_call", "function call", "actions", "action",
		"工具调用", "ツール呼び出し", "llamadas_a_herramientas", "llamadas a herramientas", "llamada a herramienta",
	}
	nameLabels = []string{"action", "tool name", "tool", "function", "✿function✿"}
	argLabels  = []string{"action input", "arguments", "args", "input", "parameters", "✿args✿"}
)

// line reads a call without marks that begins a line with a word: a label, a
// wrapper, a name.
func (in *input) line(i int) ([]llm.ToolCall, int) {
	if in.Has(i, "to=") { // harmony, when its first token was eaten
		return in.harmony(i)
	}
	calls, end := in.labelled(i)
	if len(calls) == 0 {
		calls, end = in.labelledPair(i)
	}
	if len(calls) == 0 {
		calls, end = in.wrapper(i)
	}
	if len(calls) == 0 {
		calls, end = in.nameAbove(i)
	}
	if len(calls) == 0 || !in.allOffered(calls) {
		return nil, i
	}
	if end = in.tidy(end); !in.lineEnds(end) {
		return nil, i
	}
	return calls, end
}

// series reads calls without marks that stand in one line, between commas or
// semicolons.
func (in *input) series(i int) ([]llm.ToolCall, int) {
	calls, end := in.unmarked(i)
	for len(calls) > 0 {
		k := in.Blank(end)
		if c := in.At(k); c != ',' && c != ';' {
			break
		}
		some, e := in.unmarked(in.Blank(k + 1))
		if len(some) == 0 {
			break
		}
		calls, end = append(calls, some...), e
	}
	if len(calls) > 0 {
		end = in.tidy(end)
	}
	return calls, end
}

// label is the place behind one of labels and its colon, or 0.
func (in *input) label(i int, labels []string) int {
	first := in.At(i) | 0x20
	for _, l := range labels {
		if l[0]|0x20 != first || !in.HasFold(i, l) {
			continue
		}
		k := i + len(l)
		for in.At(k) == '*' {
			k++
		}
		if k = in.After(k, []string{":", "："}); k > 0 {
			for in.At(k) == '*' {
				k++
			}
			return k
		}
	}
	return 0
}

func (in *input) labelled(i int) ([]llm.ToolCall, int) {
	for in.At(i) == '*' {
		i++
	}
	k := in.label(i, listLabels)
	if k == 0 {
		return nil, i
	}
	k = in.Space(k)
	switch in.At(k) {
	case '{', '[':
		return in.unmarked(k)
	case '`':
		if f, ok := in.fence(k); ok {
			return f.calls, f.end
		}
	}
	return nil, i
}

// labelledPair reads a name and its arguments, each after a label.
func (in *input) labelledPair(i int) ([]llm.ToolCall, int) {
	k := in.label(i, nameLabels)
	if k == 0 {
		return nil, i
	}
	k = in.Blank(k)
	e := in.Word(k)
	name := in.name(in.S[k:e])
	if name == "" || in.At(in.Blank(e)) != '\n' {
		return nil, i
	}
	if k = in.label(in.Space(e), argLabels); k == 0 {
		return nil, i
	}
	args, end, ok := in.arguments(in.Space(k), nil)
	if !ok {
		return nil, i
	}
	return []llm.ToolCall{{Name: name, Args: args}}, end
}

func (in *input) wrapper(i int) ([]llm.ToolCall, int) {
	first := in.At(i)
	if first == 'f' && in.Has(i, "functools[") {
		return in.unmarked(i + len("functools"))
	}
	for _, w := range wrappers {
		if w[0] == first && in.Has(i, w) && in.At(i+len(w)) == '(' {
			return in.wrapped(i + len(w) + 1)
		}
	}
	return nil, i
}

// nameAbove reads a tool's name with the object of its arguments under or beside
// it. Only an offered name is one.
func (in *input) nameAbove(i int) ([]llm.ToolCall, int) {
	if marked := in.Has(i, ">>>"); marked {
		i += len(">>>")
	} else if in.known == nil {
		return nil, i
	}
	e := in.Word(i)
	k := in.Blank(e)
	if in.At(k) == '\n' {
		k = in.Blank(k + 1)
	}
	if e == i || in.At(k) != '{' {
		return nil, i
	}
	name := in.name(strings.TrimSuffix(in.S[i:e], ":"))
	if name == "" || !in.offered(name) {
		return nil, i
	}
	args, end, ok := in.arguments(k, nil)
	if !ok {
		return nil, i
	}
	return []llm.ToolCall{{Name: name, Args: args}}, end
}

// fence is a fenced block.
type fence struct {
	run   string // the marks that open it, and close it
	head  int    // where its first line ends
	calls []llm.ToolCall
	end   int // where it ends, if there are calls
}

// fence reads a fenced block, and its calls if it holds nothing else.
func (in *input) fence(i int) (f fence, ok bool) {
	k := i
	for !in.End(k) && in.S[k] == in.S[i] {
		k++
	}
	f.run = in.S[i:k]
	start := k
	for !in.End(k) && in.S[k] != '\n' && in.S[k] != '`' {
		k++
	}
	if len(f.run) < 3 || in.End(k) || in.S[k] != '\n' {
		return f, false
	}
	f.head = k + 1
	info := strings.ToLower(strings.TrimSpace(in.S[start:k]))
	var calls []llm.ToolCall
	for k = in.Space(f.head); ; {
		if in.Has(k, f.run) {
			f.calls, f.end = calls, k+len(f.run)
			return f, true
		}
		if in.End(k) {
			f.calls, f.end = calls, k
			return f, true
		}
		some, end := in.fenced(k, info)
		if len(some) == 0 {
			return f, true
		}
		calls, k = append(calls, some...), in.Space(end)
		if c := in.At(k); c == ',' || c == ';' {
			k = in.Space(k + 1)
		}
	}
}

func (in *input) fenced(i int, info string) ([]llm.ToolCall, int) {
	switch c := in.At(i); {
	case c == '<', c == '[' && in.Has(i, "[TOOL_CALLS]"):
		return in.markup(i)
	case c == '{', c == '[':
		return in.unmarked(i)
	case laxjson.IsLetter(c) && strings.HasPrefix(info, "tool_"):
		return in.pythonCall(i, nil)
	}
	return nil, i
}
