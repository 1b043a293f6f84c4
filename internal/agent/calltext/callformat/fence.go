package callformat

import (
	"strings"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// Fence is a fenced block.
type Fence struct {
	Marks string         // the marks that open and close it
	Body  int            // the index after its first line
	Calls []llm.ToolCall // the calls, if it contains nothing else
	End   int            // the end of the block, if there are calls
}

// ReadFence reads a fenced block.
func ReadFence(in *Input, i int) (f Fence, ok bool) {
	k := i
	for !in.End(k) && in.S[k] == in.S[i] {
		k++
	}
	f.Marks = in.S[i:k]
	start := k
	for !in.End(k) && in.S[k] != '\n' && in.S[k] != '`' {
		k++
	}
	if len(f.Marks) < 3 || in.End(k) || in.S[k] != '\n' {
		return f, false
	}
	f.Body = k + 1
	info := strings.ToLower(strings.TrimSpace(in.S[start:k]))
	var calls []llm.ToolCall
	for k = in.Space(f.Body); ; {
		if in.Has(k, f.Marks) {
			f.Calls, f.End = calls, k+len(f.Marks)
			return f, true
		}
		if in.End(k) {
			f.Calls, f.End = calls, k
			return f, true
		}
		some, end := readFenced(in, k, info)
		if len(some) == 0 {
			return f, true
		}
		calls, k = append(calls, some...), in.Space(end)
		if c := in.At(k); c == ',' || c == ';' {
			k = in.Space(k + 1)
		}
	}
}

// readFenced reads calls inside a fenced block; info is the text after its opening
// marks.
func readFenced(in *Input, i int, info string) ([]llm.ToolCall, int) {
	switch c := in.At(i); {
	case c == '<', c == '[' && in.Has(i, "[TOOL_CALLS]"):
		return ReadMarkup(in, i)
	case c == '{', c == '[':
		return readUnmarked(in, i)
	case laxjson.IsLetter(c) && strings.HasPrefix(info, "tool_"):
		return readPythonCall(in, i, nil)
	}
	return nil, i
}
