package conversation_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/sandbox"
	"callgate/llm"
	"callgate/tool"
)

// A turn's limit is the model's: a call may run longer, and a human may take longer to
// answer, and the turn goes on to its end.
func TestTurnOutlastsItsLimitInCalls(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	slow := textTool("demo.slow", tool.Runtime{SideEffect: tool.None, Risk: tool.Low}, longText)
	ended := make(chan struct{})
	slow.Handler = tool.HandlerFunc(func(ctx context.Context, _ tool.Call, _ tool.Grant) (*tool.Result, error) {
		defer close(ended)
		select {
		case <-time.After(limit + limit/4):
			return tool.OK("the tests passed", nil)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	asks := textTool("demo.asks", tool.Runtime{SideEffect: tool.Write, Risk: tool.Medium}, func() string { return "it was changed" })
	model := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{`demo__slow {}`, `demo__asks {}`}}, kerneltest.Answer{Text: "done"})
	folder := t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+
		"}]\nruntime: {tool_injection: direct, timeout: 1}\ntools:\n  modules: {filesystem: {}}\n"+
		"  capabilities: {default_policy: auto, approve: [{module: demo, actions: [asks]}]}\n")
	k := kerneltest.OpenWith(t, kernel.Config{State: kerneltest.StateDir(t), Tools: []*tool.Tool{slow, asks}})
	talk := kerneltest.OpenConversation(t, k, folder)
	human := kerneltest.Human(t, k)
	answered := make(chan error, 1)
	end, err := talk.Send(t.Context(), llm.TextMessage(llm.User, "go"), conversation.Watch{Asked: func(r approval.Request) {
		if r.State == approval.Pending {
			go func() {
				<-ended
				answered <- k.Approvals.Answer(context.WithoutCancel(t.Context()), human, r.ID, approval.Answer{Approve: true})
			}()
		}
	}})
	ok(t, err)
	if end.Reason != history.Done {
		t.Fatalf("%+v", end)
	}
	ok(t, <-answered)
	if said := strings.Join(told(t, model), "\n"); !strings.Contains(said, "the tests passed") || !strings.Contains(said, "it was changed") {
		t.Errorf("the model was told %s", said)
	}
}

// Calls by the names and with the parameters of other agents do here what they would
// there; one that does not fit is told with an example that is filled in.
func TestModelCallsToolsAsElsewhere(t *testing.T) {
	t.Parallel()
	if sandbox.Probe().Level != sandbox.Full {
		t.Skip("this machine cannot confine a command as this test needs it")
	}
	model := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{
		`str_replace_editor {"command":"view","path":"notes.txt"}`,
		`run_terminal_cmd {"command":"echo from the terminal","is_background":false,"explanation":"look"}`,
		`Read {"file_path":"notes.txt"}`,
		`read_many_files {"paths":["notes.txt"]}`,
		`filesystem__read {}`,
	}}, kerneltest.Answer{Text: "ok"})
	folder := app(t, model, "")
	write(t, filepath.Join(folder, "notes.txt"), "alpha\n")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	kerneltest.Send(t, kerneltest.OpenConversation(t, k, folder), "go")
	said := told(t, model)
	for i, want := range []string{"1\talpha", "from the terminal", "1\talpha", "filesystem__read?", "example: {"} {
		if i >= len(said) || !strings.Contains(said[i], want) {
			t.Errorf("%d: the model is told %q, want %q", i, said, want)
		}
	}
	if all := strings.Join(said, "\n"); strings.Contains(all, "{path}") || strings.Contains(all, "get_tool") {
		t.Errorf("the model is told %s", all)
	}
}

// A compaction as it is by default leaves the model what it needs, though its own words
// about it say little: the files that it changed and read, and what it ran.
func TestCompactionTellsWhatWasTouched(t *testing.T) {
	t.Parallel()
	model := kerneltest.NewModel(t, kerneltest.Answer{Calls: []string{
		`filesystem__read {"path":"notes.txt"}`, `filesystem__write {"path":"config/port.yaml","content":"port: 4711\n"}`,
	}}, kerneltest.Answer{Text: "Port 4710 is taken, so the config has 4711."})
	folder := app(t, model, "")
	write(t, filepath.Join(folder, "notes.txt"), "alpha\n")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, talk, "move the service, and never touch legacy/")
	for range 12 {
		model.Play(kerneltest.Answer{Text: "yes"})
		kerneltest.Send(t, talk, "and so on")
	}
	model.Play(kerneltest.Answer{Text: "Much was done."})
	if done, err := talk.Compact(t.Context()); err != nil || done == nil || done.Dropped == 0 {
		t.Fatal(done, err)
	}
	model.Play(kerneltest.Answer{Text: "ok"})
	kerneltest.Send(t, talk, "what did you change?")
	for _, want := range []string{"Much was done.", "* changed config/port.yaml", "* read notes.txt"} {
		if last := model.Last(); !strings.Contains(last, want) {
			t.Errorf("the model is not told %q: %s", want, last)
		}
	}
}
