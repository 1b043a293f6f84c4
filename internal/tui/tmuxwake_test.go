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

// laneProject is a project whose agent hands work to a second model.
func laneProject(t *testing.T, edge, core *kerneltest.Model) project {
	t.Helper()
	p := project{filepath.Join(t.TempDir(), "lanes"), filepath.Join(t.TempDir(), "s")}
	kerneltest.Write(t, filepath.Join(p.folder, "callgate.yaml"), fmt.Sprintf(`app: {app_id: demo, name: Demo}
runtime: {tool_injection: direct}
agents:
  - id: main
    lanes: {edge: %s, core: %s}
tools:
  modules: {filesystem: {}}
  capabilities:
    default_policy: auto
    approve: [{module: filesystem, actions: [write]}]
`, edge.Brain("openai", "gpt-4o"), core.Brain("openai", "gpt-4o-mini")))
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

// A task ends while the chat is idle: the conversation goes on by itself, on the screen,
// asks the human, and can be stopped.
func TestChatGoesOnByItself(t *testing.T) {
	parallel(t)
	ends, again := make(chan struct{}), make(chan struct{})
	edge := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`core_job {"task":"think about a.txt"}`, `core_job {"task":"think more"}`}},
		kerneltest.Answer{Text: "I am on it."},
		kerneltest.Answer{Calls: []string{`filesystem__write {"path":"a.txt","content":"deep"}`}},
		kerneltest.Answer{Text: "I wrote it down."},
		kerneltest.Answer{Text: "never said", After: make(chan struct{})})
	core := kerneltest.NewModel(t, kerneltest.Answer{Text: "a deep answer", After: ends}, kerneltest.Answer{Text: "another", After: again})
	project := laneProject(t, edge, core)
	p := project.run(t, 100, 30, nil, "chat")
	p.want("demo/main", "say what to do")
	p.enter("think about it")
	p.want("I am on it.", "2 tasks · ")
	p.enter("/tasks")
	p.want("1  running", "think", "/tasks cancel NUMBER stops it")
	p.typeText("a draft")
	close(ends)
	p.want("core job t", "ended (done)", "filesystem.write waits for your answer: tab")
	p.keys("Tab")
	p.want("A human must decide", "+deep")
	p.typeText("a")
	p.keys("Enter")
	p.want("I wrote it down.", "> a draft", "1 task · ")
	if got, err := os.ReadFile(filepath.Join(project.folder, "a.txt")); err != nil || string(got) != "deep" {
		t.Errorf("a.txt holds %q, %v", got, err)
	}
	close(again)
	p.want("working; esc stops it")
	p.keys("C-c")
	p.want("stopped")
	p.keys("C-c") // clears the draft
	p.enter("/quit")
	p.wantExit(0)
	if !poll(func() bool { return !project.held() }) {
		t.Error("a kernel is left when the chat has ended")
	}
	shown := project.callgate(t, "sessions", "list")
	id := strings.Fields(strings.Split(shown, "\n")[1])[0]
	if text := project.callgate(t, "sessions", "show", id); strings.Count(text, "it went on by itself") != 2 {
		t.Errorf("the history says\n%s", text)
	}
}

// Line by line the user is told that there is something, and an empty line lets the
// agent go on.
func TestPlainGoesOnByItself(t *testing.T) {
	parallel(t)
	ends := make(chan struct{})
	edge := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{`core_job {"task":"think"}`}},
		kerneltest.Answer{Text: "I am on it."}, kerneltest.Answer{Text: "It is deep."})
	core := kerneltest.NewModel(t, kerneltest.Answer{Text: "a deep answer", After: ends})
	p := laneProject(t, edge, core).run(t, 80, 24, nil, "chat", "--plain")
	p.want("\n>")
	p.typeText("think about it")
	p.keys("Enter")
	p.want("I am on it.", "\n>")
	close(ends)
	p.want("1 notice for the agent: enter lets it go on")
	p.keys("Enter")
	p.want("core job t", "ended (done)", "It is deep.")
	p.leave()
}
