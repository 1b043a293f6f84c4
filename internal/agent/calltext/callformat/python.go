package callformat

import (
	"encoding/json"
	"strings"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// readPythonList reads a list of Python calls: [f(a=1), g(b="x")].
func readPythonList(in *Input, i int, ends []string) ([]llm.ToolCall, int) {
	var calls []llm.ToolCall
	for k := in.Space(i + 1); ; {
		some, end := readPythonCall(in, k, ends)
		if len(some) == 0 {
			return calls, k // broken off after a comma, or no calls
		}
		calls = append(calls, some...)
		switch k = in.Space(end); in.At(k) {
		case ',':
			k = in.Space(k + 1)
		case ']':
			return calls, k + 1
		default:
			return calls, end
		}
	}
}

// readPythonCall reads one Python call. Its arguments have names, or are one object;
// other arguments are kept as text.
func readPythonCall(in *Input, i int, ends []string) ([]llm.ToolCall, int) {
	open := in.Word(i)
	name := in.name(in.S[i:open])
	if name == "" || in.At(open) != '(' {
		return nil, i
	}
	args, end, ok := readKeywords(in, open+1, ends)
	if ok {
		return []llm.ToolCall{{Name: name, Args: args}}, end
	}
	if k := in.First(open, ends); k >= 0 {
		text := strings.TrimRight(in.S[open+1:k], " \n)]")
		return []llm.ToolCall{{Name: name, Args: laxjson.Quoted(text)}}, k
	}
	if end >= len(in.S) {
		return in.truncatedCall(name, in.S[open+1:]), len(in.S)
	}
	return nil, i
}

// readKeywords reads arguments up to the closing bracket.
func readKeywords(in *Input, i int, ends []string) (json.RawMessage, int, bool) {
	args := &laxjson.Node{Kind: '{'}
	r := &laxjson.Reader{In: &in.Text, Stops: ends, Round: true}
	for k := in.Space(i); ; {
		if in.At(k) == ')' {
			return args.JSON(""), k + 1, true
		}
		e := k
		for !in.End(e) && laxjson.IsNameByte(in.S[e]) && in.S[e] != ':' {
			e++
		}
		eq := in.Space(e)
		if e == k && in.At(k) == '{' && len(args.Keys) == 0 {
			n, ok := r.Value(k)
			if close := in.Space(n.To); ok && in.At(close) == ')' {
				return n.JSON(in.S), close + 1, true
			}
			return nil, n.To, false
		}
		if e == k || in.At(eq) != '=' {
			return nil, eq, false
		}
		n, ok := r.Value(eq + 1)
		if !ok {
			return nil, n.To, false
		}
		args.Keys, args.Children = append(args.Keys, in.S[k:e]), append(args.Children, n)
		switch k = in.Space(n.To); in.At(k) {
		case ',':
			k = in.Space(k + 1)
		case ')':
		default:
			return nil, k, false
		}
	}
}

// readAloneCall reads a Python call of an offered tool that stands alone: Read("a.txt").
// Arguments without a name are the required ones, in their order. One that has no quotes
// must look like a path, since a word alone may be an example.
func readAloneCall(in *Input, i int) ([]llm.ToolCall, int) {
	open := in.Word(i)
	if in.Known == nil || in.Required == nil || open == i || in.At(open) != '(' {
		return nil, i
	}
	name := in.name(in.S[i:open])
	if name == "" || !in.offered(name) {
		return nil, i
	}
	args, end, ok := readKeywords(in, open+1, nil)
	if !ok {
		args, end, ok = readPositional(in, name, open+1)
	}
	if !ok {
		return nil, i
	}
	return []llm.ToolCall{{Name: name, Args: args}}, end
}

// readPositional reads arguments without names up to the closing bracket.
func readPositional(in *Input, name string, i int) (json.RawMessage, int, bool) {
	args := &laxjson.Node{Kind: '{'}
	r := &laxjson.Reader{In: &in.Text, Round: true}
	for k, required := in.Space(i), in.Required(name); len(required) > 0; required = required[1:] {
		if c := in.At(k); len(args.Keys) == 0 && c != '"' && c != '\'' && c != '[' && c != '{' {
			text, end := barePath(in, k)
			data, err := json.Marshal(map[string]string{required[0]: text})
			return data, end, text != "" && err == nil
		}
		n, ok := r.Value(k)
		if !ok {
			return nil, k, false
		}
		args.Keys, args.Children = append(args.Keys, required[0]), append(args.Children, n)
		switch k = in.Space(n.To); in.At(k) {
		case ',':
			k = in.Space(k + 1)
		case ')':
			return args.JSON(in.S), k + 1, true
		default:
			return nil, k, false
		}
	}
	return nil, i, false
}

// barePath reads a path without quotes up to the closing bracket on its line. It is "" if
// there is none.
func barePath(in *Input, i int) (path string, end int) {
	k := i
	for !in.End(k) && in.S[k] != ')' && strings.IndexByte("\n(,\"'`=", in.S[k]) < 0 {
		k++
	}
	if in.At(k) != ')' || !strings.ContainsAny(in.S[i:k], "./~") {
		return "", i
	}
	return strings.TrimSpace(in.S[i:k]), k + 1
}

// wrappers are functions that models invent to call several tools at once.
var wrappers = []string{
	"run_parallel", "parallel_tool_use", "parallel_tools", "batch_tools", "execute_tools", "invoke_tools",
	"multi_tool_use.parallel",
}

// readWrapper reads an invented function around a list of calls.
func readWrapper(in *Input, i int) ([]llm.ToolCall, int) {
	first := in.At(i)
	if first == 'f' && in.Has(i, "functools[") {
		return readUnmarked(in, i+len("functools"))
	}
	for _, w := range wrappers {
		if w[0] == first && in.Has(i, w) && in.At(i+len(w)) == '(' {
			return readWrapped(in, i+len(w)+1)
		}
	}
	return nil, i
}

// readWrapped reads the list of calls in a wrapper.
func readWrapped(in *Input, i int) ([]llm.ToolCall, int) {
	k := in.Space(i)
	if e := in.Word(k); e > k { // calls=[…]
		if k = in.Space(e); in.At(k) != '=' {
			return nil, i
		}
		k = in.Space(k + 1)
	}
	if c := in.At(k); c != '[' && c != '{' {
		return nil, i
	}
	some, end := readUnmarked(in, k)
	if len(some) == 0 {
		return nil, i
	}
	if k := in.Space(end); in.At(k) == ')' {
		end = k + 1
	}
	return some, end
}
