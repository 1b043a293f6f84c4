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
		tree := p.want("2 agents of this conversation: 2 done", " 1  ✓ main  completed", " 2    ✓ main  completed")
		wantRows(t, tree, "      look at the prices", "        count the lines of price.sh")
		keep("agents", at, tree)
		p.enter("/quit")
		p.wantExit(0)
	})
}

// While agents work the last line counts them, and /agents cancel stops one and those that
// work for it: none is left, nor what they began.
func TestSceneAgentsAreStopped(t *testing.T) {
	onScreens(t, func(t *testing.T, chat func(project) *pane, keep func(string, project, ...string)) {
		at := newSceneOf(t, `
app: {app_id: shop}
agents:
- {id: lead, role: coordinator, brain: {provider: offline}}
- {id: clerk, role: coordinator, brain: {provider: offline}}
- {id: runner, brain: {provider: offline}}
tools:
  modules: {shell: {}}
  capabilities: {default_policy: auto}
`)
		p := chat(at)
		p.typeText("agent_spawn.agent specialist=clerk prompt=" +
			"`agent_spawn.agent specialist=runner wait=true prompt=«shell.bash command=\"sleep 300\"»`")
		p.want("»`")
		p.keys("Enter")
		p.want("2 agents · ")
		p.enter("/agents")
		tree := p.want("2 agents of this conversation: 2 at work", " 1  → clerk  running", " 2    → runner  running",
			"/agents cancel NUMBER stops one, and those that work for it")
		keep("agentsrun", at, tree)
		p.enter("/agents cancel 1")
		p.want("agent clerk is stopped, with those that worked for it", "(clerk) ended: cancelled")
		p.enter("/agents")
		p.want("2 agents of this conversation: 2 failed or stopped")
		p.enter("/quit")
		p.wantExit(0)
	})
}
