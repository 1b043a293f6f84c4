package calltext_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/agent/calltext"
	"callgate/internal/gate/schema"
	"callgate/llm"
)

// suiteVector is a vector of another project's tests. It expects what a model server
// makes of an answer: reasoning and content apart, without the tokens around them.
type suiteVector struct {
	Template string `json:"template"`
	Input    string `json:"input"`
	Partial  bool   `json:"partial"`
	Continue int    `json:"continue_final"`
	Tools    []struct {
		Name       string `json:"name"`
		Parameters string `json:"parameters"`
	} `json:"tools"`
	Expect struct {
		Content   string `json:"content"`
		Reasoning string `json:"reasoning"`
		Calls     []struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"tool_calls"`
	} `json:"expect"`
}

// Why a vector of the suite does not apply here, by its number. The calls of the
// vectors in otherText are still compared.
const (
	continued = "the expected text begins in the prompt, which a parser of answers does not see"
	opened    = "the expected reasoning begins in the prompt"
	reply     = "the answer is data that a schema asked for: the caller removes the fence around it"
	recipient = "the recipient of a message is part of the model's format, and is left to its server"
	builtin   = "a tool of the model's maker: the server drops the message, here it stays"
	untyped   = "markup inside a value is text there, since the tool's schema says so; there is no schema here"
)

var otherText = map[int]string{
	357: opened, 358: opened,
	31: reply, 369: reply,
	316: recipient,
	392: builtin, 393: builtin,
}

var otherCalls = map[int]string{298: untyped}

func TestSuiteOfTextVectors(t *testing.T) {
	t.Parallel()
	vectors := readSuite(t)
	if len(vectors) != 427 {
		t.Fatalf("%d vectors, want 427", len(vectors))
	}
	skipped := map[string]int{}
	compared := 0
	seen := map[string]bool{} // many templates share a text
	for i, v := range vectors {
		names := make([]string, len(v.Tools))
		for k, tool := range v.Tools {
			names[k] = tool.Name
		}
		known := func(name string) bool { return slices.Contains(names, name) }
		visible, calls := calltext.Parse(v.Input, known)
		if v.Continue == 0 && otherCalls[i] == "" {
			compareCalls(t, i, v, calls)
		}
		why := otherText[i] + otherCalls[i]
		if v.Continue != 0 {
			why = continued
		}
		got, want := unframed(visible), unframed(v.Expect.Reasoning+" "+v.Expect.Content)
		switch {
		case why == "" && got != want:
			t.Errorf("%d %s\nin   %q\ntext %q\nwant %q", i, v.Template, v.Input, got, want)
		case why == "":
			compared++
		case otherCalls[i] == "" && got == want && v.Continue == 0:
			t.Errorf("%d %s is listed as not applicable, but passes", i, v.Template)
		default:
			skipped[why]++
		}
		if !seen[v.Input] {
			atEveryByte(t, v.Input, known, visible, calls)
		}
		seen[v.Input] = true
	}
	want := map[string]int{continued: 70, opened: 2, reply: 2, recipient: 1, builtin: 2, untyped: 1}
	if diff := cmp.Diff(want, skipped); diff != "" {
		t.Errorf("not applicable: %s", diff)
	}
	if compared != 349 {
		t.Errorf("%d vectors were compared whole, want 349", compared)
	}
}

// compareCalls compares the calls with the expected ones as the gate sees them: after
// the coercions of the tool's schema.
func compareCalls(t *testing.T, i int, v suiteVector, calls []llm.ToolCall) {
	t.Helper()
	if len(calls) != len(v.Expect.Calls) {
		t.Errorf("%d %s\nin    %q\ncalls %v, want %v", i, v.Template, v.Input, calls, v.Expect.Calls)
		return
	}
	for k, want := range v.Expect.Calls {
		got := calls[k]
		if got.Name != want.Name {
			t.Errorf("%d %s: name %q, want %q", i, v.Template, got.Name, want.Name)
		}
		if v.Partial && !json.Valid([]byte(want.Arguments)) {
			var text string
			if json.Unmarshal(got.Args, &text) != nil || !strings.Contains(v.Input, text) {
				t.Errorf("%d %s: broken off, %s, want the text as a string", i, v.Template, got.Args)
			}
			continue
		}
		if diff := cmp.Diff(decode(t, []byte(want.Arguments)), decode(t, checked(t, v, got))); diff != "" {
			t.Errorf("%d %s\nin   %q\nargs %s", i, v.Template, v.Input, diff)
		}
	}
}

func checked(t *testing.T, v suiteVector, call llm.ToolCall) json.RawMessage {
	t.Helper()
	for _, tool := range v.Tools {
		if tool.Name != call.Name {
			continue
		}
		s, err := schema.Compile(json.RawMessage(tool.Parameters))
		if err != nil {
			return call.Args // an empty or odd schema
		}
		if out, err := s.Check(call.Args, schema.Lenient); err == nil {
			return out.Args
		}
	}
	return call.Args
}

func decode(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return v
}

// frames matches the tags of reasoning and the tokens around messages.
var frames = regexp.MustCompile(`</?(seed:|mm:)?think>|\[/?THINK\]|\[BEGIN FINAL RESPONSE\]` +
	`|<\|(open|close)\|>\w+<\|sep\|>|<\|?channel>(thought)?|<channel\|>` +
	`|(<\|start\|>assistant)?( to=\w+)?(<\|channel\|>\w+( to=\w+)?)*( ?<\|constrain\|>\w+)?<\|message\|>|<\|[A-Za-z_]+\|>`)

func unframed(text string) string {
	return strings.Join(strings.Fields(frames.ReplaceAllString(text, " ")), " ")
}

func readSuite(t *testing.T) []suiteVector {
	t.Helper()
	name := filepath.Join("..", "..", "..", "..", "shared", "suites", "toolcall-text-vectors.jsonl")
	f, err := os.Open(name)
	if err != nil {
		t.Skip("needs ../shared/suites")
	}
	defer f.Close()
	var all []suiteVector
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v suiteVector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
