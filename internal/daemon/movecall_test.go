//go:build unix

package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/tool"
)

// A client moves the command of a turn to the background: the turn goes on and ends, the
// command works on, and its end wakes the idle conversation, once.
func TestClientMovesACall(t *testing.T) {
	t.Parallel()
	state, folder := t.TempDir(), t.TempDir()
	model := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`shell__bash {"command":"echo begun; until test -e gate; do sleep 0.05; done; echo over"}`}},
		kerneltest.Answer{Text: "it builds"}, kerneltest.Answer{Text: "it is built"})
	app := "agents: [{id: main, brain: " + model.Brain("openai", "gpt-4o") + "}]\nruntime: {tool_injection: direct}\n" +
		"tools: {modules: {shell: {}}, capabilities: {default_policy: auto}}\n"
	ok(t, os.WriteFile(filepath.Join(folder, "callgate.yaml"), []byte(app), 0o644))
	d := serveAccepted(t, state, folder)
	defer func() { ok(t, d.Stop()) }()
	talk := open(t, dial(state, ""), folder, "", false)
	if err := talk.MoveToBackground(t.Context(), "none"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("a call that does not run: %v", err)
	}
	var told *tool.Result
	for e, err := range talk.Send(t.Context(), "build it") {
		ok(t, err)
		switch {
		case e.Output != nil && strings.Contains(string(e.Output.Text), "begun"):
			ok(t, talk.MoveToBackground(t.Context(), e.Output.Call))
		case e.Result != nil:
			told = e.Result.Result
		}
	}
	if told == nil || !strings.Contains(told.Summary, "goes on in the background as task") ||
		!strings.Contains(told.Content[0].Text, "begun") {
		t.Fatalf("the model was told %+v", told)
	}
	ends := attending(t.Context(), t, talk)
	ok(t, os.WriteFile(filepath.Join(folder, "gate"), nil, 0o644))
	if end := <-ends; end.Reason != protocol.EndDone {
		t.Errorf("%+v", end)
	}
	asked := model.Last()
	if n := strings.Count(asked, "BACKGROUND TASK COMPLETED"); n != 1 || !strings.Contains(asked, "over") {
		t.Errorf("it was told %d times: %s", n, asked)
	}
	if n := len(model.Asked()); n != 3 {
		t.Errorf("the model was asked %d times", n)
	}
}
