package compact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"callgate/internal/conversation/compact"
	"callgate/llm"
	"callgate/tool"
)

// step is an answer with a call, and its result.
func step(id, says, name, args, result string) []compact.Message {
	call := llm.Message{Role: llm.Assistant}
	if says != "" {
		call.Parts = append(call.Parts, llm.Part{Text: says})
	}
	call.Parts = append(call.Parts, llm.Part{Call: &llm.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}})
	r := &llm.ToolResult{ID: id, Name: name, Content: []tool.Content{tool.Text(result)}, IsError: strings.HasPrefix(result, "error")}
	return []compact.Message{{Message: call}, {Message: llm.Message{Role: llm.Tool, Parts: []llm.Part{{Result: r}}}}}
}

// longTask is a task over some hundred calls, with facts on its way that its end needs.
func longTask() []compact.Message {
	all := []compact.Message{user("move the service to port 4711, and never touch legacy/")}
	add := func(m []compact.Message) { all = append(all, m...) }
	add(step("a", "Port 4710 is taken by the proxy, so the config gets 4711.", "filesystem__read",
		`{"path":"config.yaml"}`, "port: 4710\n"+words(400)))
	add(step("b", "", "filesystem__edit", `{"path":"config.yaml","old":"4710","new":"4711"}`, "edited config.yaml: 1 change"))
	add(step("c", "", "execute_tool", `{"name":"filesystem.write","params":{"path":"deploy/service.env","content":"x"}}`, "wrote it"))
	add(step("d", "", "apply_patch", `{"patch":"*** Begin Patch\n*** Update File: cmd/main.go\n@@\n-a\n+b\n*** End Patch"}`, "patched"))
	add(step("e", "", "shell__bash", `{"command":"go test ./..."}`, "ok a\nFAIL TestPort: got 4710, want 4711\nexit code 1"))
	add(step("f", "", "filesystem__read", `{"path":"no/such.go"}`, "error: there is no no/such.go"))
	add(step("z", "", "shell__bash", `{"command":"go test ./..."}`, "ok a\nok b\nexit code 0"))
	for i := range 60 {
		add(step(fmt.Sprint("r", i), "", "filesystem__read", fmt.Sprintf(`{"path":"src/file%d.go"}`, i), words(300)))
	}
	return append(all, user("and now the last step"), model("ok"), user("go on"))
}

// What the rest of a task needs is in the summary, also when a lazy model wrote it, and
// after several compactions.
func TestSummaryKeepsWhatWasDone(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]compact.Summarizer{"no model": nil, "a lazy model": &writer{text: "Goal: port 4711, legacy/ stays; 4710 is taken by the proxy."}} {
		policy := compact.Policy{Window: 24_000, KeepRecent: 4}
		messages := longTask()
		for round := range 3 {
			c, err := policy.Compact(t.Context(), compact.Input{Messages: messages, Cause: compact.Requested}, by)
			if err != nil || c == nil {
				t.Fatalf("%s: %v, %v", name, c, err)
			}
			for _, fact := range []string{
				"port 4711", "legacy/", "4710 is taken by the proxy", "* changed config.yaml", "* changed deploy/service.env",
				"* changed cmd/main.go", "* ran `go test ./...`", "exit code 0", "* read src/file40.go",
			} {
				if !strings.Contains(c.Summary, fact) {
					t.Errorf("%s, round %d: %q is not in\n%s", name, round, fact, c.Summary)
				}
			}
			if round == 0 && by == nil && !strings.Contains(c.Summary, "no/such.go: failed: error: there is no") {
				t.Errorf("a failure is not told:\n%s", c.Summary)
			}
			if strings.Contains(c.Summary, "exit code 1") || strings.Count(c.Summary, "* changed config.yaml") != 1 {
				t.Errorf("%s, round %d: an outcome that was overtaken, or a line twice, in\n%s", name, round, c.Summary)
			}
			messages = append([]compact.Message{{Message: llm.TextMessage(llm.User, c.Summary), Kind: compact.Summary}},
				append(step(fmt.Sprint("n", round), "", "filesystem__read", `{"path":"src/file59.go"}`, words(500)),
					user("more"), model("yes"), user("go on"), model("sure"), user("and on"))...)
		}
	}
}
