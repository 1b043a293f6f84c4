package conversation_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/agent"
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/kernel/kerneltest"
)

// A turn that has cost what the app, or who opened the conversation, allows ends before
// the next request, with a reason of its own.
func TestCostEndsATurn(t *testing.T) {
	t.Parallel()
	for _, of := range [][2]string{{"openai", "gpt-4o"}, {"anthropic", "claude-sonnet-4-5"}} {
		for name, c := range map[string]struct {
			runtime string
			limit   agent.Limit
			asked   int
			says    string
		}{
			"the app's dollars":   {"max_cost: 0.0001", agent.Limit{}, 1, "may cost $0.0001; the app's runtime.max_cost"},
			"the app's tokens":    {"max_cost_tokens: 200", agent.Limit{}, 2, "this turn took 220 tokens, and may take 200"},
			"the client's dollar": {"max_cost: 5", agent.Limit{Cost: 100}, 1, "this conversation cost"},
			"the client's tokens": {"max_cost: 5", agent.Limit{Tokens: 300}, 3, "since it was opened"},
		} {
			t.Run(of[0]+": "+name, func(t *testing.T) {
				t.Parallel()
				var script []kerneltest.Answer
				for i := range 9 {
					script = append(script, kerneltest.Answer{Calls: []string{fmt.Sprintf(`filesystem__list {"path":".","limit":%d}`, i+1)}})
				}
				model, folder := kerneltest.NewModel(t, script...), t.TempDir()
				write(t, filepath.Join(folder, "callgate.yaml"), "app: {app_id: dear}\nagents: [{id: main, brain: "+
					model.Brain(of[0], of[1])+"}]\nruntime: {tool_injection: direct, "+c.runtime+"}\ntools:\n"+
					"  modules: {filesystem: {}}\n  capabilities: {default_policy: auto}\n")
				k := kerneltest.Open(t, kerneltest.StateDir(t))
				talk := kerneltest.OpenConversationWith(t, k, conversation.Spec{Workspace: folder, Limit: c.limit})
				end := kerneltest.Send(t, talk, "go")
				if end.Reason != history.Cost || len(model.Asked()) != c.asked || !strings.Contains(end.Error, c.says) {
					t.Errorf("%+v after %d requests", end, len(model.Asked()))
				}
			})
		}
	}
}
