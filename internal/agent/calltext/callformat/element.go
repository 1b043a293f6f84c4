package callformat

import (
	"encoding/json"
	"strings"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// elements are the names of elements that are calls.
var elements = map[string]bool{"function": true, "invoke": true, "tool_use": true, "tool": true}

// The names of the elements inside a call.
var (
	parameter  = map[string]bool{"parameter": true, "param": true, "arg": true, "argument": true}
	parameters = map[string]bool{"parameters": true, "params": true, "args": true, "arguments": true, "input": true}
	naming     = map[string]bool{"tool_name": true, "name": true, "function_name": true}
)

// tag is the start tag or end tag of an element.
type tag struct {
	name    string // in lower case, without the prefix
	local   string // as written, without the prefix
	full    string // as written, with the prefix
	attrs   string
	closing bool
	equals  bool // the name is followed by =, and end is after it
	from    int
	end     int
}

// tag reads the tag at i. A prefix is a word and a colon, or DeepSeek's mark.
func (in *Input) tag(i int) (t tag, ok bool) {
	t.from = i
	if in.At(i) != '<' {
		return t, false
	}
	k := i + 1
	if in.At(k) == '/' {
		t.closing = true
		k++
	}
	start := k
	if in.Has(k, "｜DSML｜") {
		k += len("｜DSML｜")
	}
	local := k
	for ; !in.End(k) && k < local+64; k++ {
		if c := in.S[k]; c == ':' {
			local = k + 1
		} else if !laxjson.IsLetter(c) && c != '-' && (c < '0' || c > '9') {
			break
		}
	}
	if local >= k {
		return t, false
	}
	t.local, t.full, t.name = in.S[local:k], in.S[start:k], strings.ToLower(in.S[local:k])
	if in.At(k) == '=' {
		t.equals, t.end = true, k+1
		return t, true
	}
	if c := in.At(k); c != '>' && c != ' ' && c != '\n' && c != '\t' {
		return t, false
	}
	if !elements[t.name] && !containers[t.name] && in.S[k] != '>' && !parameter[t.name] {
		return t, false // not part of a call, so its end need not be awaited
	}
	end := in.Near(k, ">", 400)
	if end < 0 || strings.Contains(in.S[k:end], "<") {
		return t, false
	}
	t.attrs, t.end = in.S[k:end], end+1
	return t, true
}

// attr returns the value of an attribute, or "".
func (t tag) attr(key string) string {
	rest := t.attrs
	for {
		k := strings.Index(rest, key)
		if k < 0 {
			return ""
		}
		before, after := rest[:k], strings.TrimLeft(rest[k+len(key):], " ")
		rest = rest[k+len(key):]
		if before != "" && strings.TrimRight(before, " \t\n") == before || !strings.HasPrefix(after, "=") {
			continue
		}
		after = strings.TrimLeft(after[1:], " ")
		if after != "" && strings.IndexByte("\"'", after[0]) >= 0 {
			value, _, _ := strings.Cut(after[1:], after[:1])
			return value
		}
		value, _, _ := strings.Cut(after, " ")
		return value
	}
}

// readElement reads a call that is an element.
func readElement(in *Input, t tag) ([]llm.ToolCall, int) {
	b := elementBody{in: in, closes: []string{"</" + t.full + ">"}, end: t.end, raw: t.name != "function"}
	switch {
	case t.equals:
		if !b.equals(t) {
			return nil, t.from
		}
	default:
		b.name = in.name(t.attr("name"))
		if b.name == "" && (t.name == "function" || t.name == "tool") {
			return nil, t.from
		}
	}
	b.from = b.end
	closed := b.read()
	if b.name == "" {
		return nil, t.from
	}
	switch {
	case b.cut:
		return in.truncatedCall(b.name, strings.TrimSpace(in.S[b.from:])), len(in.S)
	case b.args != nil:
		return []llm.ToolCall{{Name: b.name, Args: b.args}}, b.end
	case len(b.keys) == 0 && !closed:
		if in.End(in.Space(b.end)) {
			return in.truncatedCall(b.name, ""), len(in.S)
		}
		return nil, t.from
	}
	args := &laxjson.Node{Kind: '{', Keys: b.keys, Children: b.values}
	return []llm.ToolCall{{Name: b.name, Args: args.JSON("")}}, b.end
}

// elementBody reads the contents of a call's element.
type elementBody struct {
	in     *Input
	closes []string
	raw    bool // an element of any name is a parameter
	name   string
	keys   []string
	values []*laxjson.Node
	args   json.RawMessage // the arguments, if they are one JSON object
	cut    bool            // the text ends inside a value
	from   int             // the start of the contents
	end    int             // the end of what was read
}

// equals reads the head of <function=name>, and of its misspellings.
func (b *elementBody) equals(t tag) bool {
	in, k := b.in, t.end
	if c := in.At(k); c == '"' || c == '\'' {
		k++
	}
	e := in.Word(k)
	if b.name = in.name(in.S[k:e]); b.name == "" || t.name != "function" {
		return false
	}
	closed := false
	for !in.End(e) && strings.IndexByte(" \t\r\n>,()[]=\"'", in.S[e]) >= 0 {
		closed = closed || in.S[e] == '>'
		e++
	}
	b.end = e
	b.closes = append(b.closes, "<function>", "</tool_call>")
	return closed || in.At(e) == '{' || in.End(e)
}

// read reads up to the end of the element, and reports whether it was closed.
func (b *elementBody) read() bool {
	for {
		k := b.in.Space(b.end)
		if e := b.in.After(k, b.closes); e > 0 {
			if !b.in.Has(k, "</tool_call>") { // that belongs to the element around this one
				b.end = e
			}
			return true
		}
		switch c := b.in.At(k); {
		case c == '{' && b.args == nil && len(b.keys) == 0:
			args, end, ok := readArguments(b.in, k, b.closes)
			if !ok {
				return false
			}
			b.args, b.end = args, end
		case b.args != nil && strings.IndexByte(")]}", c) >= 0 && c != 0:
			b.end = k + 1 // one bracket too many
		case c != '<' || !b.child(k):
			return false
		}
	}
}

// child reads an element inside. It reports false if there is none that belongs
// here, or if it does not end.
func (b *elementBody) child(i int) bool {
	t, ok := b.in.tag(i)
	if !ok || t.closing {
		return false
	}
	key, start := t.attr("name"), t.end
	switch {
	case parameter[t.name] && t.equals:
		e := b.in.Near(t.end, ">", 200)
		if e < 0 {
			b.cut = b.in.End(t.end + 200)
			return false
		}
		key, start = strings.Trim(b.in.S[t.end:e], "\"' "), e+1
	case parameter[t.name]:
		if key == "" {
			key = t.attr("key")
		}
	case parameters[t.name] && !t.equals && b.args == nil:
		return b.group(t)
	case t.equals || t.attrs != "":
		return false
	case naming[t.name] && b.name == "":
		e := b.in.Index(start, "</"+t.full+">")
		if e < 0 {
			return false
		}
		b.name, b.end = b.in.name(b.in.S[start:e]), e+len(t.full)+3
		return b.name != ""
	case b.raw && b.name != "":
		key = t.local
	default:
		return false
	}
	return key != "" && b.value(t, key, start)
}

// group reads an element that contains all parameters.
func (b *elementBody) group(t tag) bool {
	closes := "</" + t.full + ">"
	k := b.in.Space(t.end)
	inner := elementBody{in: b.in, closes: []string{closes}, raw: true, name: b.name, end: t.end}
	if inner.name == "" {
		inner.name = "?" // the name comes later
	}
	if b.in.At(k) == '{' {
		args, end, ok := readArguments(b.in, k, inner.closes)
		if !ok {
			return false
		}
		b.args = args
		if k := b.in.Space(end); b.in.Has(k, closes) {
			end = k + len(closes)
		}
		b.end = end
		return true
	}
	closed := inner.read()
	b.cut = inner.cut || !closed && b.in.End(b.in.Space(inner.end))
	b.keys, b.values, b.end = append(b.keys, inner.keys...), append(b.values, inner.values...), inner.end
	return closed
}

// value reads the value of a parameter, which begins at i.
func (b *elementBody) value(t tag, key string, i int) bool {
	closes := "</" + t.full + ">"
	var text string
	end := -1
	if k := b.in.Space(i); b.in.Has(k, "<![CDATA[") {
		from := k + len("<![CDATA[")
		if to := b.in.Index(from, "]]>"); to >= 0 {
			text, end = b.in.S[from:to], b.in.Space(to+3)
		}
	} else {
		ends := []string{closes}
		if t.equals {
			ends = append(ends, "\n<parameter=", "\n</function>", "\n</tool_call>")
		}
		if end = b.in.First(i, ends); end >= 0 {
			text = b.in.S[i:end]
		}
	}
	if end < 0 {
		b.cut = true
		return false
	}
	if b.in.Has(end, closes) {
		end += len(closes)
	}
	b.keys, b.values, b.end = append(b.keys, key), append(b.values, typed(t, unwrap(text))), end
	return true
}

// unwrap removes the line ends between a value and its tags.
func unwrap(text string) string {
	for _, end := range []string{"\n", "\r\n"} {
		if rest, ok := strings.CutPrefix(text, end); ok {
			return strings.TrimSuffix(strings.TrimSuffix(rest, "\n"), "\r")
		}
	}
	return text
}

// typed returns a value of the type that its tag names, if it names one.
func typed(t tag, text string) *laxjson.Node {
	kind := t.attr("type")
	switch {
	case kind == "string", t.attr("string") == "true":
		return &laxjson.Node{Kind: '"', Text: text}
	case kind != "", t.attr("string") == "false":
		if value := strings.TrimSpace(text); json.Valid([]byte(value)) {
			return &laxjson.Node{Kind: 'w', Text: value}
		}
	}
	return plain(text)
}

// plain returns a value without a type: a number or a literal of JSON, or else text.
func plain(text string) *laxjson.Node {
	literal := text != "" && strings.IndexByte("{[\"", text[0]) < 0 && text == strings.TrimSpace(text)
	if literal && json.Valid([]byte(text)) {
		return &laxjson.Node{Kind: 'w', Text: text}
	}
	return &laxjson.Node{Kind: '"', Text: text}
}
