// Package callformat recognizes the formats in which models write tool calls.
//
// A recognizer is a function that looks at one position of the text. It returns
// the calls that are written there and the end of their markup; no calls means no
// markup. Formats nest (a list in an element in a special token), so the
// recognizers call each other; none of them knows what surrounds the position.
// Package calltext decides that: where a call may stand, and which text is only
// quoted.
//
// The law is the law of streaming of [laxjson.Text]: a result reached with NeedMore
// unset cannot be changed by later text. A recognizer never invents a name: the
// name of a call stands in its markup.
package callformat

import (
	"slices"
	"strings"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// Input is the text to recognize calls in, and the names of the offered tools.
type Input struct {
	laxjson.Text
	Known func(name string) bool // whether a tool was offered; nil: every name is known
	// Required returns the required parameters of an offered tool, in their order; nil: a
	// Python call that stands alone is no call.
	Required func(name string) []string
	Depth    int // how deep markup is nested at the position
	// Nested finds the calls in a text that is the value of a string.
	Nested func(text string, known func(string) bool, depth int) []llm.ToolCall
}

// LineEnds reports whether only space, punctuation or markup follows i on its line.
func (in *Input) LineEnds(i int) bool {
	i = in.Blank(i)
	if c := in.At(i); c == ',' || c == ';' {
		i = in.Blank(i + 1)
	}
	return in.End(i) || in.S[i] == '\n' || in.S[i] == '<'
}

// AllOffered reports whether all of the called tools were offered.
func (in *Input) AllOffered(calls []llm.ToolCall) bool {
	return !slices.ContainsFunc(calls, func(c llm.ToolCall) bool { return !in.offered(c.Name) })
}

func (in *Input) offered(name string) bool { return in.Known == nil || in.Known(name) }

// name returns the tool name that a model wrote, in the form in which tools are
// offered. It is "" if the text is not a name.
func (in *Input) name(written string) string {
	written = strings.TrimSpace(written)
	if in.Known != nil && in.Known(written) {
		return written
	}
	name := strings.TrimPrefix(written, "functions.")
	if k := strings.LastIndexByte(name, ':'); k > 0 && digits(name[k+1:]) {
		name = name[:k]
	}
	if name == "" || len(name) > 128 {
		return ""
	}
	for i := range len(name) {
		if !laxjson.IsNameByte(name[i]) {
			return ""
		}
	}
	return name
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// truncatedCall returns a call that broke off, with the text of its arguments as a
// JSON string. If only the name came, it must be the name of an offered tool.
func (in *Input) truncatedCall(name, text string) []llm.ToolCall {
	if name == "" || text == "" && !in.offered(name) {
		return nil
	}
	return []llm.ToolCall{{Name: name, Args: laxjson.Quoted(text)}}
}

// token returns the name of the special token at i, with plain bars and
// underscores, and its end. The name is "" if there is no token.
func (in *Input) token(i int) (name string, end int) {
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

// bar returns the index after a bar at i, plain or wide, or 0.
func (in *Input) bar(i int) int { return in.After(i, []string{"|", "｜"}) }

// unfence returns the index after the line that opens a fence at i, or i.
func (in *Input) unfence(i int) int {
	if !in.Has(i, "```") {
		return i
	}
	k := in.Word(i + 3)
	return in.Space(k)
}

// strayTokens close markup that was closed before, or was never opened.
var strayTokens = []string{
	"</tool_call>", "</tool_calls>", "</function>", "</function_calls>", "</function_call>",
	"<|call|>", "<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|eom|>", "<|eot|>", "<|end|>", "<|endoftext|>", "</s>",
}

// skipStray returns the end of the stray tokens from i on.
func (in *Input) skipStray(i int) int {
	for k := i; k > 0; k = in.After(in.Space(i), strayTokens) {
		i = k
	}
	return i
}
