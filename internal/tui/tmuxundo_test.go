package tui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/peer/terminaltest"
)

// writerProject is a project whose model writes files unasked.
func writerProject(t *testing.T, model *kerneltest.Model) project {
	t.Helper()
	p := project{filepath.Join(t.TempDir(), "writer"), filepath.Join(t.TempDir(), "s")}
	kerneltest.Write(t, filepath.Join(p.folder, "callgate.yaml"), fmt.Sprintf(`app: {app_id: demo, name: Demo}
runtime: {tool_injection: direct}
agents: [{id: main, brain: %s}]
tools:
  modules: {filesystem: {}}
  capabilities: {default_policy: auto, max_risk_level: high}
`, model.Brain("openai", "gpt-4o")))
	accepted := terminaltest.Run(t, terminaltest.Program{
		Args: []string{"callgate", "app", "trust", "--yes"}, Dir: p.folder,
		Env:   []string{"CALLGATE_STATE=" + p.state, "GORACE=atexit_sleep_ms=0", "CALLGATE_TOKEN="},
		Types: []terminaltest.Typing{terminaltest.Code()},
	})
	if accepted.Exit != 0 {
		t.Fatalf("app trust: %s\n%s", accepted.Err, accepted.Screen)
	}
	return p
}

// holds reports whether a file of the project has a content.
func (p project) holds(name, content string) bool {
	data, err := os.ReadFile(filepath.Join(p.folder, name))
	return err == nil && string(data) == content
}

// writes is a model that writes made.txt twice, and answers once more.
func writes(t *testing.T) *kerneltest.Model {
	return kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`filesystem__write {"path":"made.txt","content":"first\n"}`}},
		kerneltest.Answer{Text: "one is done"},
		kerneltest.Answer{Calls: []string{`filesystem__edit {"path":"made.txt","old":"first","new":"second"}`}},
		kerneltest.Answer{Text: "two is done"}, kerneltest.Answer{Text: "three is done"})
}

// /undo shows the difference and puts the file back after a yes; /rewind takes the turn from
// the model too; what the user wrote since is in the way of both.
func TestUndoInTheChat(t *testing.T) {
	parallel(t)
	model := writes(t)
	project := writerProject(t, model)
	p := project.run(t, 100, 40, nil, "chat")
	p.want("say what to do")
	p.enter("write one")
	p.want("one is done")
	p.enter("write two")
	p.want("two is done")
	p.enter("/undo")
	p.want("turn 2", "write two", "restore made.txt", "-second", "+first", "/undo yes puts back 1 file")
	if !project.holds("made.txt", "second\n") {
		t.Error("it was put back before the user said so")
	}
	p.enter("/undo yes")
	p.want("put back 1 file (call c", "/undo redo takes the files back")
	if !project.holds("made.txt", "first\n") {
		t.Error("it was not put back")
	}
	p.enter("/undo redo")
	p.want("an undo is taken back")
	p.enter("/clear")
	p.enter("/undo yes")
	p.want("put back 1 file (call c") // what is written before the call has ended counts as its own
	if !project.holds("made.txt", "second\n") {
		t.Error("the undo was not taken back")
	}
	kerneltest.Write(t, filepath.Join(project.folder, "made.txt"), "by hand\n")
	p.enter("/clear")
	p.enter("/rewind")
	p.want("changed since: by somebody outside of Callgate", "/rewind skip leaves such files as they are")
	p.enter("/rewind yes")
	p.want("say /rewind skip or /rewind force")
	p.enter("/rewind force")
	p.want("the conversation is cut back")
	if !project.holds("made.txt", "first\n") {
		t.Error("it was not written over")
	}
	p.enter("go on")
	p.want("three is done")
	if last := model.Last(); strings.Contains(last, "write two") || !strings.Contains(last, "write one") {
		t.Errorf("the model was shown %s", last)
	}
	p.enter("/quit")
	p.wantExit(0)
	if log := project.callgate(t, "log", "tail"); strings.Count(log, "begun") < 4 || !strings.Contains(log, "undo.restore") {
		t.Errorf("on record is\n%s", log)
	}
}

// Line by line it is the same, with a question.
func TestUndoLineByLine(t *testing.T) {
	parallel(t)
	model := writes(t)
	project := writerProject(t, model)
	p := project.run(t, 100, 40, nil, "chat", "--plain")
	p.want("\n>")
	say := func(text string) { p.typeText(text); p.keys("Enter") }
	say("write one")
	p.want("one is done", "\n>")
	say("write two")
	p.want("two is done")
	say("/undo")
	p.want("restore made.txt", "+first", "put back 1 file?")
	say("y")
	p.want("put back 1 file (call c")
	if !project.holds("made.txt", "first\n") {
		t.Error("it was not put back")
	}
	say("/undo sideways")
	p.want("/undo does not know")
	say("/rewind 2")
	p.want("cut the conversation back?")
	say("y")
	p.want("the conversation is cut back")
	say("go on")
	p.want("three is done")
	if last := model.Last(); strings.Contains(last, "write two") {
		t.Errorf("the model was shown %s", last)
	}
	p.leave()
}
