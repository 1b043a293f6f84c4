package agents_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/kernel/kerneltest"
)

// steps is an app that reads a file, has an agent count in it, and writes down what that
// found.
const steps = `
runtime:
  mode: pipeline
  input: {type: object, properties: {path: {type: string}}, required: [path]}
  output: {type: object}
  pipeline:
  - {id: read, action: filesystem.read, params: {path: "{{input.path}}"}}
  - id: count
    agent: lint-agent
    prompt: "Count in: {{steps.read.text}}"
    output: {type: object, properties: {found: {type: integer}}, required: [found]}
  - id: note
    action: filesystem.write
    params: {path: out.txt, content: "found {{steps.count.output.found}} in {{input.path}}"}
`

func TestPipeline(t *testing.T) {
	agent := kerneltest.NewModel(t, kerneltest.Answer{Text: "I found it"}, kerneltest.Answer{Text: `{"found": 42}`})
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	appWith(t, folder, "lint", agent.Brain("openai", "gpt-4o"), open+steps)
	kerneltest.Write(t, filepath.Join(folder, "a.txt"), "the answer is 42\n")
	c := kerneltest.OpenConversation(t, k, folder)
	if end := kerneltest.Send(t, c, `{"path":"a.txt"}`); end.Reason != "done" {
		t.Fatalf("the turn ended: %+v", end)
	}
	if text, _ := os.ReadFile(filepath.Join(folder, "out.txt")); string(text) != "found 42 in a.txt" {
		t.Errorf("it wrote %q", text)
	}
	asked := agent.Asked()
	if len(asked) != 2 || !strings.Contains(string(asked[0]), "the answer is 42") || !strings.Contains(string(asked[1]), "is not JSON") {
		t.Errorf("the agent was asked %d times: %s", len(asked), asked)
	}
	var said []string
	for _, e := range kerneltest.History(t, k, c.ID()) {
		if e.Type == "assistant" {
			said = append(said, e.Message.Text())
		}
	}
	if !slices.Contains(said, "step 1 of 3 (read)") || !slices.Contains(said, "step 3 of 3 (note)") {
		t.Errorf("it said %q", said)
	}

	if end := kerneltest.Send(t, c, `{"path":"none.txt"}`); end.Reason != "error" || !strings.Contains(end.Error, "step 1 of 3 (read) failed") {
		t.Errorf("a step that fails: %+v", end)
	}
	if end := kerneltest.Send(t, c, `{"file":"a.txt"}`); end.Reason != "error" || !strings.Contains(end.Error, "the input does not fit") {
		t.Errorf("an input that does not fit: %+v", end)
	}
}

// A pipeline is called as any app is, with at most its caller's rights, and a step that was
// done is not done again after a kill.
func TestPipelineGoesOnAfterAKill(t *testing.T) {
	state := filepath.Join(kerneltest.StateDir(t), "s")
	k := kerneltest.Open(t, state)
	agent := kerneltest.NewModel(t)
	base := t.TempDir()
	folder, other := filepath.Join(base, "caller"), filepath.Join(base, "called")
	edit := "  - {id: mark, action: filesystem.edit, params: {path: a.txt, old_string: '42', new_string: '42+'}}\n"
	appWith(t, other, "lint", agent.Brain("openai", "gpt-4o"), open+strings.Replace(steps, "  - {id: read,", edit+"  - {id: read,", 1))
	caller := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{`call_app {"app_id":"lint","input":{"path":"a.txt"}}`}})
	appWith(t, folder, "main", caller.Brain("openai", "gpt-4o"), "tools: {apps: {lint: ../called/callgate.yaml}, "+
		"modules: {filesystem: {}, agent_spawn: {}}, capabilities: {default_policy: auto}}")
	kerneltest.Write(t, filepath.Join(folder, "a.txt"), "the answer is 42\n")
	trust(t, k, folder)
	trust(t, k, other)
	kerneltest.OK(t, k.Close())
	id := killedAt(t, state, folder, agent.StopAt(1))

	agent.Play(kerneltest.Answer{Text: `{"found": 42}`})
	caller.Play(kerneltest.Answer{Text: "all is done"})
	k = kerneltest.Open(t, state)
	c := kerneltest.Resume(t, k, id)
	if end, err := c.Resume(t.Context(), conversation.Watch{}); err != nil || end.Reason != "done" {
		t.Fatalf("%+v, %v", end, err)
	}
	if text, _ := os.ReadFile(filepath.Join(folder, "a.txt")); string(text) != "the answer is 42+\n" {
		t.Errorf("it was edited to %q", text)
	}
	if text, _ := os.ReadFile(filepath.Join(folder, "out.txt")); string(text) != "found 42 in a.txt" {
		t.Errorf("it wrote %q", text)
	}
	if last := caller.Last(); !strings.Contains(last, `\"app_id\":\"lint\",\"output\":{`) {
		t.Errorf("the caller was told %s", last[max(0, len(last)-1500):])
	}
}
