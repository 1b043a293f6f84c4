package agents_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
)

// appWith writes an app into a folder.
func appWith(t *testing.T, folder, id, brain, more string) string {
	t.Helper()
	file := filepath.Join(folder, "callgate.yaml")
	kerneltest.Write(t, file, fmt.Sprintf(`
app: {app_id: %s, description: the app %s}
agents: [{id: %s-agent, brain: %s}]
%s
`, id, id, id, brain, more))
	return file
}

const open = `
tools:
  modules: {filesystem: {}}
  capabilities: {default_policy: auto}
`

// trust accepts the app of a folder.
func trust(t *testing.T, k *kernel.Kernel, folder string) {
	t.Helper()
	kerneltest.OpenAccepted(t, k, folder).Close()
}

// calling is a folder with an app that calls another one in a folder beside it.
func calling(t *testing.T, k *kernel.Kernel, caller, called *kerneltest.Model, more string) (folder, other string) {
	t.Helper()
	base := t.TempDir()
	folder, other = filepath.Join(base, "caller"), filepath.Join(base, "called")
	appWith(t, other, "lint", called.Brain("openai", "gpt-4o"), open+more)
	appWith(t, folder, "main", caller.Brain("openai", "gpt-4o"), strings.Replace(open, "tools:\n",
		"tools:\n  apps: {lint: ../called/callgate.yaml}\n", 1))
	kerneltest.Write(t, filepath.Join(folder, "a.txt"), "the answer is 42\n")
	trust(t, k, folder)
	trust(t, k, other)
	return folder, other
}

func TestAppIsCalled(t *testing.T) {
	caller := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`call_app {"app_id":"lint","input":{"path":"a.txt"}}`}},
		kerneltest.Answer{Text: "it is 42"})
	called := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`filesystem__read {"path":"a.txt"}`}},
		kerneltest.Answer{Text: "I found 42"},
		kerneltest.Answer{Text: "```json\n{\"found\": 42}\n```"})
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder, _ := calling(t, k, caller, called, `
runtime:
  mode: one_shot
  input: {type: object, properties: {path: {type: string}}, required: [path]}
  output: {type: object, properties: {found: {type: integer}}, required: [found]}
`)
	c := kerneltest.OpenConversation(t, k, folder)
	if end := kerneltest.Send(t, c, "ask the app"); end.Reason != "done" {
		t.Fatalf("the turn ended: %+v", end)
	}
	told := caller.Last()
	for _, want := range []string{`\"output\":{\"found\":42}`, `\"app_id\":\"lint\"`, `\"tool_calls\":1`} {
		if !strings.Contains(told, want) {
			t.Errorf("the caller was not told %s: %s", want, told)
		}
	}
	if first := string(caller.Asked()[0]); !strings.Contains(first, "- lint: the app lint; input:") {
		t.Errorf("the caller's instructions do not name the app: %s", first)
	}
	asked := called.Asked()
	if first := string(asked[0]); !strings.Contains(first, `\"path\":\"a.txt\"`) || !strings.Contains(first, "fits this schema") {
		t.Errorf("the app was asked %s", first)
	}
	if again := string(asked[len(asked)-1]); !strings.Contains(again, "is not JSON") {
		t.Errorf("the app was not told what does not fit: %s", again)
	}
	list := tree(t, k, c.ID())
	if len(list) != 1 || list[0].Name() != "app lint" || list[0].Usage().Input == 0 {
		t.Errorf("the tree is %+v", list)
	}
	if own, all := c.Info().Own, c.Info().Usage; all.Input <= own.Input {
		t.Errorf("what the app cost does not count for its caller: own %+v, all %+v", own, all)
	}
}
