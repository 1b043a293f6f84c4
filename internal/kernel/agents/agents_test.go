package agents_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel"
	"callgate/internal/kernel/agents"
	"callgate/internal/kernel/kerneltest"
)

// team is a folder with an app: a coordinator, and two specialists.
func team(t *testing.T, brain func(agent string) string, more string) string {
	t.Helper()
	folder := t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), fmt.Sprintf(`
agents:
- id: lead
  role: coordinator
  brain: %s
  delegate_to: [reader, writer]
  %s
- {id: reader, specialty: finds things, modules: [filesystem: [read, glob, grep]], brain: %s}
- {id: writer, specialty: writes files, brain: %s}
- {id: other, brain: %s}
tools:
  modules: {filesystem: {}, memory: {}}
  capabilities: {default_policy: auto}
`, brain("lead"), more, brain("reader"), brain("writer"), brain("other")))
	kerneltest.Write(t, filepath.Join(folder, "a.txt"), "the answer is 42\n")
	return folder
}

func TestAgentWorksForAnother(t *testing.T) {
	lead := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`agent_spawn__agent {"prompt":"What is the answer?","specialist":"reader","wait":true}`}},
		kerneltest.Answer{Text: "it is 42"})
	reader := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`filesystem__read {"path":"a.txt"}`}},
		kerneltest.Answer{Text: "a.txt says 42"})
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := team(t, brains(map[string]*kerneltest.Model{"lead": lead, "reader": reader}), "")
	kerneltest.OpenAccepted(t, k, folder).Close()
	c := kerneltest.OpenConversation(t, k, folder)
	if end := kerneltest.Send(t, c, "ask somebody"); end.Reason != "done" {
		t.Fatalf("the turn ended: %+v", end)
	}
	list := tree(t, k, c.ID())
	if len(list) != 1 || list[0].Status() != agents.Completed || list[0].Name() != "reader" {
		t.Fatalf("the tree is %+v", list)
	}
	told := lead.Last()
	for _, want := range []string{"a.txt says 42", `\"status\":\"completed\"`, "Its result was given above"} {
		if !strings.Contains(told, want) {
			t.Errorf("the lead was not told %q: %s", want, told)
		}
	}
	asked := string(reader.Asked()[0])
	for _, want := range []string{"findings only", "What is the answer?"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the reader was not told %q: %s", want, asked)
		}
	}
	if strings.Contains(asked, "filesystem__write") || strings.Contains(asked, "set_goal") {
		t.Errorf("the reader is shown what is not its: %s", asked)
	}
}

func brains(all map[string]*kerneltest.Model) func(string) string {
	return func(agent string) string {
		if m := all[agent]; m != nil {
			return m.Brain("openai", "gpt-4o")
		}
		return "{provider: offline}"
	}
}

func tree(t *testing.T, k *kernel.Kernel, root string) []*agents.Agent {
	t.Helper()
	list, err := k.Agents.Tree(t.Context(), root)
	kerneltest.OK(t, err)
	return list
}

func data[T any](t *testing.T, raw json.RawMessage) (v T) {
	t.Helper()
	kerneltest.OK(t, json.Unmarshal(raw, &v))
	return v
}

// grantSpawn lets all agents of a folder's app start others.
func grantSpawn(t *testing.T, folder string) {
	t.Helper()
	file := filepath.Join(folder, "callgate.yaml")
	text, err := os.ReadFile(file)
	kerneltest.OK(t, err)
	kerneltest.Write(t, file, strings.Replace(string(text), "memory: {}}", "memory: {}, agent_spawn: {}}", 1))
}
