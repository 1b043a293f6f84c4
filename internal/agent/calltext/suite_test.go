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

// suiteVector is one of the vectors of another project's tests. What it expects
// is what a model server makes of an answer: thoughts and words apart, without
// the tokens that frame them.
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

// What in the suite does not apply here, by the number of the vector, and why.
// Of those under words the calls are compared all the same.
const (
	continued = "the expected words begin in the prompt, which a parser of answers does not see"
	opened    = "the expected thought begins in the prompt"
	reply     = "the answer is data asked for by a schema: the fence around it is the asker's to take off"
	recipient = "the recipient of the words is a frame of the model's form, and is left to its server"
	builtin   = "a tool of the model's maker: the server drops the message, here it stays"
	untyped   = "markup inside a value is text there, since the tool's schema says so; there is no schema here"
)

var notWords = map[int]string{
	357: opened, 358: opened,
	31: reply, 369: reply,
	316: recipient,
	392: builtin, 393: builtin,
}

var notCalls = map[int]string{298: untyped}

func TestSuite(t *testing.T) {
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
		if v.Continue == 0 && notCalls[i] == "" {
			compareCalls(t, i, v, calls)
		}
		why := notWords[i] + notCalls[i]
		if v.Continue != 0 {
			why = continued
		}
		got, want := unframed(visible), unframed(v.Expect.Reasoning+" "+v.Expect.Content)
		switch {
		case why == "" && got != want:
			t.Errorf("%d %s\nin    %q\nwords %q\nwant  %q", i, v.Template, v.Input, got, want)
		case why == "":
			compared++
		case notCalls[i] == "" && got == want && v.Continue == 0:
			t.Errorf("%d %s is listed as one that does not apply, and passes", i, v.Template)
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
		t.Errorf("what does not apply: %s", diff)
	}
	if compared != 349 {
		t.Errorf("%d vectors were compared whole, want 349", compared)
	}
}

// compareCalls holds the calls against the expected ones as the door would see
// them: with the readings that the tool's schema asks for.
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
			var came string
			if json.Unmarshal(got.Args, &came) != nil || !strings.Contains(v.Input, came) {
				t.Errorf("%d %s: broken off, %s, want what came as a string", i, v.Template, got.Args)
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

// frames are the tags of thoughts and the tokens around messages.
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
		t.Skip("the suite of text vectors is not beside the repository (../shared/suites)")
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
