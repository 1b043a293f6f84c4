package callformat

import (
	"strings"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// readUnmarked reads a call, or a list of calls, without marks: the object or list
// at i. A complete value that is not a call still has an end.
func readUnmarked(in *Input, i int) ([]llm.ToolCall, int) {
	k := i
	if in.At(i) == '[' {
		k = in.Space(i + 1)
		if laxjson.IsLetter(in.At(k)) {
			calls, end := readPythonList(in, i, nil)
			if len(calls) == 0 || in.S[end-1] != ']' && end < len(in.S) {
				return nil, i
			}
			return calls, end
		}
	}
	if in.At(k) != '{' || !looksLikeCall(in, k) {
		return nil, i
	}
	n, ok := (&laxjson.Reader{In: &in.Text}).Value(i)
	if !ok && n.To < len(in.S) {
		return nil, i
	}
	return callsIn(in, n, n.To, true), n.To
}

// looksLikeCall reports whether the first key of the object at i may be a call's, so
// that the end of other objects need not be awaited.
func looksLikeCall(in *Input, i int) bool {
	k := in.Space(i + 1)
	for _, mark := range []string{`"`, "'", "“", "”"} {
		if in.Has(k, mark) {
			k += len(mark)
			break
		}
	}
	return callKey(strings.TrimSuffix(in.S[min(k, len(in.S)):in.Word(k)], ":"))
}

// The labels before calls, before a name, and before arguments.
var (
	listLabels = []string{
		"tool_calls", "tool calls", "tool_call", "tool call",
		"function_calls", "function calls", "function_call", "function call", "actions", "action",
		"工具调用", "ツール呼び出し", "llamadas_a_herramientas", "llamadas a herramientas", "llamada a herramienta",
	}
	nameLabels = []string{"action", "tool name", "tool", "function", "✿function✿"}
	argLabels  = []string{"action input", "arguments", "args", "input", "parameters", "✿args✿"}
)

// ReadLine reads a call without marks that begins a line with a word: a label, a
// wrapper, a name.
func ReadLine(in *Input, i int) ([]llm.ToolCall, int) {
	if in.Has(i, "to=") { // harmony without its first token
		return readHarmony(in, i)
	}
	calls, end := readLabelled(in, i)
	if len(calls) == 0 {
		calls, end = readLabelledPair(in, i)
	}
	if len(calls) == 0 {
		calls, end = readWrapper(in, i)
	}
	if len(calls) == 0 {
		calls, end = readNameAbove(in, i)
	}
	if len(calls) == 0 {
		calls, end = readAloneCall(in, i)
	}
	if len(calls) == 0 || !in.AllOffered(calls) {
		return nil, i
	}
	if end = in.skipStray(end); !in.LineEnds(end) {
		return nil, i
	}
	return calls, end
}

// ReadSeries reads calls without marks on one line, separated by commas or
// semicolons.
func ReadSeries(in *Input, i int) ([]llm.ToolCall, int) {
	calls, end := readUnmarked(in, i)
	for len(calls) > 0 {
		k := in.Blank(end)
		if c := in.At(k); c != ',' && c != ';' {
			break
		}
		some, e := readUnmarked(in, in.Blank(k+1))
		if len(some) == 0 {
			break
		}
		calls, end = append(calls, some...), e
	}
	if len(calls) > 0 {
		end = in.skipStray(end)
	}
	return calls, end
}

// labelEnd returns the index after one of labels and its colon, or 0.
func labelEnd(in *Input, i int, labels []string) int {
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

func readLabelled(in *Input, i int) ([]llm.ToolCall, int) {
	for in.At(i) == '*' {
		i++
	}
	k := labelEnd(in, i, listLabels)
	if k == 0 {
		return nil, i
	}
	k = in.Space(k)
	switch in.At(k) {
	case '{', '[':
		return readUnmarked(in, k)
	case '`':
		if f, ok := ReadFence(in, k); ok {
			return f.Calls, f.End
		}
	}
	return nil, i
}

// readLabelledPair reads a name and its arguments, each after a label.
func readLabelledPair(in *Input, i int) ([]llm.ToolCall, int) {
	k := labelEnd(in, i, nameLabels)
	if k == 0 {
		return nil, i
	}
	k = in.Blank(k)
	e := in.Word(k)
	name := in.name(in.S[k:e])
	if name == "" || in.At(in.Blank(e)) != '\n' {
		return nil, i
	}
	if k = labelEnd(in, in.Space(e), argLabels); k == 0 {
		return nil, i
	}
	args, end, ok := readArguments(in, in.Space(k), nil)
	if !ok {
		return nil, i
	}
	return []llm.ToolCall{{Name: name, Args: args}}, end
}

// readNameAbove reads the name of an offered tool with the object of its arguments
// below or beside it.
func readNameAbove(in *Input, i int) ([]llm.ToolCall, int) {
	if marked := in.Has(i, ">>>"); marked {
		i += len(">>>")
	} else if in.Known == nil {
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
	args, end, ok := readArguments(in, k, nil)
	if !ok {
		return nil, i
	}
	return []llm.ToolCall{{Name: name, Args: args}}, end
}
