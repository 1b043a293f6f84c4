package tui_test

import (
	"fmt"
	"strings"
	"testing"
)

// An agent that works for the conversation has another work for it; /agents shows both, the
// one under the other.
func TestSceneAgents(t *testing.T) {
	onScreens(t, func(t *testing.T, chat func(project) *pane, keep func(string, project, ...string)) {
		model := serveAnswers(t, []answer{
			{calls: []modelCall{call("agent_spawn__agent", "prompt", "look at the prices", "wait", true)}},
			{calls: []modelCall{call("agent_spawn__agent", "prompt", "count the lines of price.sh", "wait", true)}},
			{text: "There are 4 lines."},
			{text: "The prices are in 4 lines."},
			{text: "Two agents have looked."},
		})
		app := strings.Replace(fmt.Sprintf(sceneApp, model), "memory: {}", "memory: {}, agent_spawn: {}", 1)
		at := newSceneOf(t, app)
		p := chat(at)
		p.enter("have the prices looked at")
		p.want("Two agents have looked.")
		p.enter("/agents")
		tree := p.want("2 agents of this conversation: 2 done", "  ✓ main  completed", "    ✓ main  completed")
		wantRows(t, tree, "    look at the prices", "      count the lines of price.sh")
		keep("agents", at, tree)
		p.enter("/quit")
		p.wantExit(0)
	})
}
