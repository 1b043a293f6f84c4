package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/shell"

	"callgate/internal/provider/offline"
)

// deskScript sorts the tickets of the example.
const deskScript = `result = [desk.triage(ticket=filesystem.read(path=p))["urgency"] ` +
	`for p in ["tickets/1.txt", "tickets/2.txt"]]`

// TestExampleHelpDesk runs examples/help-desk as its README says, without a language model: from the
// command line, in a script, in an agent's turn and through MCP.
func TestExampleHelpDesk(t *testing.T) {
	t.Parallel()
	state, folder := newState(t), copyExample(t, "help-desk", nil)
	person(t, state, "-C", folder, "app", "trust", "--yes")
	ticket := readFile(t, folder, "tickets/1.txt")
	client := newAgent(t, state, folder, "client")
	for way, said := range map[string]string{
		"tools call": runOK(t, state, folder, "tools", "call", "desk.triage", "--ticket", ticket),
		"run_script": runOK(t, state, folder, "tools", "call", "run_script", "--script", deskScript),
		"run":        runOK(t, state, folder, "run", "-p", `desk.triage ticket="it burns"`),
		"mcp":        client.call("desk__triage", `{"ticket":"it burns"}`),
	} {
		if !strings.Contains(said, "low") {
			t.Errorf("%s: the simplest answer is low, and it says\n%s", way, said)
		}
		if way != "run_script" && !strings.Contains(said, strings.TrimSpace(offline.Label)) {
			t.Errorf("%s does not say that no language model answered:\n%s", way, said)
		}
	}
}

// TestExampleHelpDeskWithAModel: with a language model, its answer is the tool's result in each of
// these ways, and the agent is told it.
func TestExampleHelpDeskWithAModel(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(http.HandlerFunc(deskModel))
	defer model.Close()
	state, folder := newState(t), copyExample(t, "help-desk", map[string]string{
		"brain: {provider: offline}":     "brain: {provider: openai, model: desk-model, config: {api_key: k, base_url: " + model.URL + "/v1}}",
		"default_model: offline/offline": "default_model: openai/desk-model",
	})
	person(t, state, "-C", folder, "app", "trust", "--yes")
	client := newAgent(t, state, folder, "client")
	for _, tc := range []struct{ way, said, want string }{
		{"tools call", runOK(t, state, folder, "tools", "call", "desk.triage", "--ticket", "no card works"), `high`},
		{"run_script", runOK(t, state, folder, "tools", "call", "run_script", "--script", deskScript), `["high","low"]`},
		{"run", runOK(t, state, folder, "run", "-p", "How urgent is it that no card works?"), "It is high, for technical."},
		{"mcp", client.call("desk__triage", `{"ticket":"is it green?"}`), `low`},
	} {
		if !strings.Contains(strings.ReplaceAll(tc.said, " ", ""), strings.ReplaceAll(tc.want, " ", "")) {
			t.Errorf("%s: %q is not in\n%s", tc.way, tc.want, tc.said)
		}
	}
}

// TestGuideLLMTools: the app of the guide to LLM-backed tools is what it says, and its commands run.
func TestGuideLLMTools(t *testing.T) {
	t.Parallel()
	page := readFile(t, filepath.Join("..", "..", "docs", "guides"), "llm-tools.md")
	state, folder := newState(t), newFolder(t, "")
	files := []string{"callgate.yaml", "prompts/sum.yaml", "prompts/summarize.yaml"}
	blocks := strings.Split(page, "```yaml\n")[1:]
	if err := os.Mkdir(filepath.Join(folder, "prompts"), 0o700); err != nil || len(blocks) < len(files) {
		t.Fatal(len(blocks), err)
	}
	for i, name := range files {
		block, _, _ := strings.Cut(blocks[i], "\n```")
		write(t, filepath.Join(folder, filepath.FromSlash(name)), block+"\n")
	}
	person(t, state, "-C", folder, "app", "trust", "--yes")
	_, first, _ := strings.Cut(page, "\ncallgate app trust\n")
	commands, _, _ := strings.Cut(first, "\n```")
	for line := range strings.SplitSeq(commands, "\n") {
		args, err := shell.Fields(line, nil)
		if err != nil || len(args) < 3 || args[0] != "callgate" {
			t.Fatalf("%q: %v", line, err)
		}
		if said := runOK(t, state, folder, args[1:]...); !strings.Contains(said, "urgent") {
			t.Errorf("%s\nsays\n%s", line, said)
		}
	}
	for _, call := range [][]string{{"desk.sum", "--text", "a b c"}, {"desk.summarize", "--ticket", "A B C"}} {
		said := runOK(t, state, folder, append([]string{"tools", "call"}, call...)...)
		if !strings.Contains(said, "answered by offline/offline") {
			t.Errorf("%s says\n%s", call, said)
		}
	}
}

// deskModel is a model that sorts tickets about cards: as an agent it calls desk.triage and tells its
// result, and asked for JSON it decides.
func deskModel(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var asked struct {
		Tools    []json.RawMessage `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(body, &asked) != nil || len(asked.Messages) == 0 {
		http.Error(w, `{"error":{"message":"no request"}}`, http.StatusBadRequest)
		return
	}
	last := asked.Messages[len(asked.Messages)-1]
	answer := modelAnswer{Text: `{"urgency":"low","team":"sales","why":"Nothing is broken."}`}
	switch {
	case len(asked.Tools) > 0 && last.Role == "tool":
		answer.Text = "I do not know."
		if strings.Contains(string(last.Content), "high") && strings.Contains(string(last.Content), "technical") {
			answer.Text = "It is high, for technical."
		}
	case len(asked.Tools) > 0:
		call := `{"calls":[{"name":"desk__triage","args":{"ticket":"no card works"}}]}`
		answer = modelAnswer{}
		_ = json.Unmarshal([]byte(call), &answer)
	case strings.Contains(string(last.Content), "card"):
		answer.Text = `{"urgency":"high","team":"technical","why":"Nobody can pay."}`
	}
	answer.write(w)
}
