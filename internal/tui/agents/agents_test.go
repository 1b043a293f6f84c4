package agents_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"callgate/internal/protocol"
	"callgate/internal/tui/agents"
	"callgate/internal/tui/termtext"
	"callgate/internal/tui/transcript"
	"callgate/llm"
)

var all = []protocol.Agent{
	{
		ID: "t1", Name: "reader", Depth: 1, Label: "reader: read the notes\x1b[31m\nand all", Status: protocol.AgentRunning,
		Seconds: 12, ToolCalls: 3, Usage: llm.Usage{Input: 4000, Output: 200},
	},
	{ID: "t2", Name: "helper", Depth: 2, Label: "count", Status: protocol.AgentCompleted, Seconds: 2, ToolCalls: 1},
	{ID: "t3", Name: "writer", Depth: 1, Label: "write", Status: protocol.AgentFailed, Error: "it cost too much"},
	{ID: "t4", Name: "last", Depth: 1, Label: strings.Repeat("long ", 100), Status: protocol.AgentQueued},
}

func TestTree(t *testing.T) {
	t.Parallel()
	lines := agents.Tree(all).Lines(80, false)
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"4 agents of this conversation: 1 at work, 1 queued, 1 done, 1 failed or stopped",
		" 1  → reader  running · 12 s · 3 calls · 4200 tokens", " 2    ✓ helper  completed", "        count", "it cost too much",
		"/agents cancel NUMBER stops one, and those that work for it",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if done := strings.Join(agents.Tree(all[1:3]).Lines(80, false), "\n"); strings.Contains(done, "/agents cancel") {
		t.Errorf("where all have ended it shows\n%s", done)
	}
	if strings.Contains(text, "\x1b[31m\n") || strings.Contains(text, "write\n") {
		t.Errorf("it shows\n%s", text)
	}
	for _, line := range lines {
		if termtext.Width(line) > 80 || strings.Contains(line, "\n") {
			t.Errorf("%d wide: %q", termtext.Width(line), line)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		list func(context.Context, string) ([]protocol.Agent, error)
		want string
	}{
		"some":  {func(context.Context, string) ([]protocol.Agent, error) { return all, nil }, "→ reader"},
		"none":  {func(context.Context, string) ([]protocol.Agent, error) { return nil, nil }, "no agent works"},
		"error": {func(context.Context, string) ([]protocol.Agent, error) { return nil, errors.New("gone") }, "gone"},
		"off":   {nil, "no agent works"},
	} {
		script := &transcript.Transcript{}
		a := agents.New(t.Context(), agents.Options{List: c.list, Script: script})
		if !a.Update(a.Command("t0", "")()) || a.Update("something else") {
			t.Errorf("%s: the wrong messages are handled", name)
		}
		script.Resize(80, 24)
		if got := strings.Join(script.Window(), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: it shows %s", name, got)
		}
	}
}

// /agents cancel stops an agent of the conversation that has not ended: the task that it works
// on now, by the number that was shown, or by its ID.
func TestCancel(t *testing.T) {
	t.Parallel()
	list := func(context.Context, string) ([]protocol.Agent, error) {
		now := slices.Clone(all)
		now[0].Task, now[3].Task = "t1-again", "t4"
		return append([]protocol.Agent{{ID: "new", Name: "new", Task: "new", Status: protocol.AgentRunning}}, now...), nil
	}
	for text, want := range map[string][2]string{ // the task that is stopped, and what is said
		"cancel 1":      {"t1-again", "agent reader is to stop, with those that work for it"},
		"cancel t1":     {"t1-again", "agent reader is to stop"},
		"cancel 4":      {"t4", "agent last is stopped, with those that worked for it"},
		"cancel 2":      {"", "agent helper has ended: completed"},
		"cancel 9":      {"", "there is no agent 9 here"},
		"cancel other":  {"", "there is no agent other here"},
		"cancel":        {"", "say which one"},
		"stop 1":        {"", "say which one"},
		"cancel 1 gone": {"", "say which one"},
	} {
		stopped, by := "", ""
		script := &transcript.Transcript{}
		a := agents.New(t.Context(), agents.Options{
			List: func(context.Context, string) ([]protocol.Agent, error) { return all, nil }, Script: script, By: "me",
			Cancel: func(_ context.Context, id string, c protocol.CancelTask) (protocol.Task, error) {
				stopped, by = id, c.By
				now := protocol.Task{ID: id, State: protocol.TaskRunning}
				if id == "t4" {
					now.State = protocol.TaskCancelled
				}
				return now, nil
			},
		})
		a.Update(a.Command("t0", "")()) // numbers them
		a.List = list                   // and then there are others
		if cmd := a.Command("t0", text); cmd != nil {
			a.Update(cmd())
		}
		script.Resize(100, 40)
		shown := strings.Join(script.Window(), "\n")
		if stopped != want[0] || !strings.Contains(shown, want[1]) || stopped != "" && by != "me" {
			t.Errorf("%s stopped %q, by %q, and shows\n%s", text, stopped, by, shown)
		}
	}
}
