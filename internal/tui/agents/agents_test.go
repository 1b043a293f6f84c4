package agents_test

import (
	"context"
	"errors"
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
		"  → reader  running · 12 s · 3 calls · 4200 tokens", "    ✓ helper  completed", "      count", "it cost too much",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
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
		if !a.Update(a.Command("t0")()) || a.Update("something else") {
			t.Errorf("%s: the wrong messages are handled", name)
		}
		script.Resize(80, 24)
		if got := strings.Join(script.Window(), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: it shows %s", name, got)
		}
	}
}
