package callformat_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"callgate/internal/agent/calltext/callformat"
	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

func known(name string) bool { return slices.Contains([]string{"run", "read"}, name) }

// input returns an input that knows the tools run and read.
func input(text string, final bool) *callformat.Input {
	return &callformat.Input{
		Text: laxjson.Text{S: text, Final: final}, Known: known,
		Nested: func(text string, known func(string) bool, depth int) []llm.ToolCall {
			in := &callformat.Input{Text: laxjson.Text{S: text, Final: true}, Known: known, Depth: depth}
			calls, _ := callformat.ReadMarkup(in, 0)
			return calls
		},
	}
}

// markups holds a text of each marked format, with the calls in it.
var markups = map[string]struct {
	text string
	want string
}{
	"element with JSON": {`<tool_call>{"name": "run", "arguments": {"a": 1}}</tool_call>`, `run {"a": 1}`},
	"element with pairs": {
		"<tool_call>run<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>", `run {"a":1}`,
	},
	"function element": {"<function=run>\n<parameter=a>\n1\n</parameter>\n</function>", `run {"a":1}`},
	"invoke element": {
		`<invoke name="run"><parameter name="a">x</parameter></invoke>`, `run {"a":"x"}`,
	},
	"two in one container": {
		`<tool_calls>{"name": "run", "arguments": {}}, {"name": "read", "arguments": {}}</tool_calls>`,
		"run {}; read {}",
	},
	"mistral's name": {`[TOOL_CALLS]run[ARGS]{"a": 1}`, `run {"a": 1}`},
	"mistral's list": {`[TOOL_CALLS][{"name": "run", "arguments": {"a": 1}}]`, `run {"a": 1}`},
	"sections": {
		"<|tool_calls_section_begin|><|tool_call_begin|>functions.run:0<|tool_call_argument_begin|>{\"a\": 1}" +
			"<|tool_call_end|><|tool_calls_section_end|>", `run {"a": 1}`,
	},
	"harmony": {
		`<|channel|>commentary to=functions.run<|constrain|>json<|message|>{"a": 1}<|call|>`, `run {"a": 1}`,
	},
	"kimi": {
		`<|open|>tools<|sep|><|open|>call tool="run"<|sep|><|open|>argument key="a"<|sep|>1` +
			`<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>`, `run {"a":1}`,
	},
	"minimax": {
		`]<]minimax[>[<tool_call>]<]minimax[>[<invoke name="run">]<]minimax[>[<a>1]<]minimax[>[</a>` +
			`]<]minimax[>[</invoke>]<]minimax[>[</tool_call>`, `run {"a":1}`,
	},
	"python in a token": {`<|tool_call_start|>[run(a=1), read(b="x")]<|tool_call_end|>`, `run {"a":1}; read {"b":"x"}`},
	"a failed generation": {
		`<tool_call>{"failed_generation": "<function=run>{\"a\": 1}</function>"}</tool_call>`, `run {"a": 1}`,
	},
	"broken off": {`<tool_call>{"name": "run", "arguments": {"a": "ab`, `run "{\"a\": \"ab"`},
	"a definition": {
		`<tool_call>{"name": "run", "parameters": {"type": "object", "properties": {}}}</tool_call>`, "",
	},
	"an unrelated element": {"<div>run</div>", ""},
}

func show(calls []llm.ToolCall) string {
	var all []string
	for _, c := range calls {
		all = append(all, c.Name+" "+string(c.Args))
	}
	return strings.Join(all, "; ")
}

func TestReadMarkupOfEachFormat(t *testing.T) {
	t.Parallel()
	for name, c := range markups {
		calls, end := callformat.ReadMarkup(input(c.text, true), 0)
		if got := show(calls); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if want := len(c.text); c.want != "" && end != want || c.want == "" && end != 0 {
			t.Errorf("%s: the markup ends at %d of %d", name, end, want)
		}
	}
}

func TestReadFenceWithCallsOnly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"```json\n{\"name\": \"run\", \"arguments\": {}}\n```": "run {}",
		"```tool_code\nrun(a=1)\n```":                          `run {"a":1}`,
		"```go\nfunc main() {}\n```":                           "",
	} {
		f, ok := callformat.ReadFence(input(text, true), 0)
		if got := show(f.Calls); !ok || f.Marks != "```" || got != want {
			t.Errorf("%q holds %q, want %q", text, got, want)
		}
	}
}

func TestReadLineOfUnmarkedCalls(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`Tool call: {"name": "run", "arguments": {}}`: "run {}",
		"Action: run\nAction Input: {\"a\": 1}":       `run {"a": 1}`,
		"run\n{\"a\": 1}":                             `run {"a": 1}`,
		`functools[{"name": "run", "arguments": {}}]`: "run {}",
		"other\n{\"a\": 1}":                           "",
	} {
		calls, _ := callformat.ReadLine(input(text, true), 0)
		if got := show(calls); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// checkPrefixes asserts the law of streaming: a result of a prefix that needs no more
// text is the result of the whole text.
func checkPrefixes(t *testing.T, text string) {
	t.Helper()
	want, end := callformat.ReadMarkup(input(text, true), 0)
	for _, c := range want {
		if !strings.Contains(text, c.Name) || !json.Valid(c.Args) {
			t.Errorf("%q has the call %+v", text, c)
		}
	}
	for n := range len(text) {
		in := input(text[:n], false)
		got, e := callformat.ReadMarkup(in, 0)
		if in.NeedMore {
			continue
		}
		if e != end || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q until %d after %d bytes, want %q until %d", text, show(got), e, n, show(want), end)
		}
	}
}

func TestPrefixesNeedMoreOrAgree(t *testing.T) {
	t.Parallel()
	for _, c := range markups {
		checkPrefixes(t, c.text)
		checkPrefixes(t, c.text+" and more")
	}
}

func FuzzPrefixes(f *testing.F) {
	for _, c := range markups {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 2000 { // every prefix is parsed
			checkPrefixes(t, text)
		}
	})
}
