package tui_test

import (
	"strings"
	"testing"
)

// wantRows checks that what must be seen whole is: rows of a screen that nothing cuts.
func wantRows(t *testing.T, screen string, rows ...string) {
	t.Helper()
	for _, row := range rows {
		if !strings.Contains(screen, row) {
			t.Errorf("%q is not on\n%s", row, screen)
		}
	}
}

const sceneScript = "names = [\"price\", \"test\", \"cart\"]\n" +
	"filesystem.glob(pattern=\"src/*.sh\")\n" +
	"for n in names:\n    shell.bash(command=\"wc -l src/%s.sh\" % n)\n" +
	"result = \"counted\""

// A script is followed by the lines of its program, and its calls are answered at once; then
// the agent proposes, has itself reminded and asks, and /waiting has all of it.
func TestSceneWaiting(t *testing.T) {
	onScreens(t, func(t *testing.T, chat func(project) *pane, keep func(string, project, ...string)) {
		at := newScene(t, []answer{
			{text: "I count the lines of the three scripts.", calls: []modelCall{call("run_script", "program", sceneScript)}},
			{calls: []modelCall{
				call("propose_config_change", "reason", "it stops in the middle of long work", "changes",
					[]any{map[string]any{"path": "runtime.max_turns", "value": 40}}),
				call("remind", "when", "in 2h", "message", "look at the prices again"),
				call("ask_user", "question", "Shall **the cart** get a test, too?", "choices", []string{"yes", "no", "later"}),
			}},
			{text: "All is said."},
		}, "runtime: {scheduler: true}\n")
		p := chat(at)
		p.enter("count the lines of the scripts, then make plans")
		p.want("A human must decide", "line 4 of a script", "line 4   shell.bash ×3", "and 2 more")
		one := p.want("3 wait for you", "[stop]: deny, and end the script")
		p.typeText("all")
		p.keys("Enter")
		all := p.want("A human must decide: 3 calls", "src/cart.sh", "[a]pprove all 3", "[stop]")
		p.typeText("a")
		p.want("enter: approve")
		p.keys("Enter")
		asked := p.want("✗ line 4   shell.bash ×3", "1 failed", "The agent asks", "( ) later")
		p.keys("Escape")
		p.want("tab goes back to it")
		p.enter("/waiting")
		waits := p.want("waits for you:", "tab goes to it", "works for this conversation:", "next in ")
		wantRows(t, waits, "Shall **the cart** get a test, too?", "look at the prices again", "/proposals prop_")
		keep("waiting", at, one, all, asked, waits)
		p.keys("Tab", "Down", "Enter")
		p.want("All is said.")
		p.enter("/proposals")
		list := p.want(" 1  config_change", "it stops in the middle of long work", "nothing changes before you accept it")
		p.enter("/proposals 1")
		shown := p.want("+", "max_turns: 40", "/proposals accept 1 ", "/proposals refuse 1 WHY refuses it")
		keep("proposals", at, list, shown)
		p.enter("/quit")
		p.wantExit(0)
	})
}
