package callgate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate"
	"callgate/llm"
	"callgate/tool"
)

// printer is a model that calls demo.print once.
type printer struct{}

func (printer) Generate(_ context.Context, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	for _, part := range r.Messages[len(r.Messages)-1].Parts {
		if part.Result != nil {
			return &llm.Response{Message: llm.TextMessage(llm.Assistant, part.Result.Text()), Stop: llm.StopEnd}, nil
		}
	}
	call := llm.ToolCall{ID: "1", Name: "demo__print", Args: json.RawMessage(`{}`)}
	return &llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &call}}}, Stop: llm.StopTools}, nil
}

// The events of a turn have all output of its calls, however fast a call prints and
// however late the goroutine runs that passes the output on.
func TestTurnHasAllOutput(t *testing.T) {
	t.Parallel()
	const pieces = 20_000
	var want strings.Builder
	for i := range pieces {
		fmt.Fprintln(&want, i)
	}
	printTool := &tool.Tool{
		ID:      tool.ID{Namespace: "demo", Name: "print", Version: tool.Version{Major: 1}},
		Spec:    tool.Spec{Name: "demo.print", Description: "Prints numbers.", Input: json.RawMessage(`{"type":"object"}`)},
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.Read},
		Handler: tool.HandlerFunc(func(_ context.Context, _ tool.Call, g tool.Grant) (*tool.Result, error) {
			for i := range pieces {
				g.Output("stdout", fmt.Appendln(nil, i))
			}
			return tool.OK("printed", nil)
		}),
	}
	kernel, err := callgate.Open(t.Context(), callgate.Config{State: t.TempDir(), Tools: []*tool.Tool{printTool}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kernel.Close() })
	workspace := t.TempDir()
	app := "app: {app_id: printing}\nruntime: {tool_injection: direct}\n"
	if err := os.WriteFile(filepath.Join(workspace, "callgate.yaml"), []byte(app), 0o600); err != nil {
		t.Fatal(err)
	}
	conversation, err := kernel.OpenConversation(t.Context(), callgate.ConversationConfig{Workspace: workspace, Model: printer{}})
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	lost, said := 0, ""
	for event, err := range conversation.Send(t.Context(), "print") {
		if err != nil {
			t.Fatal(err)
		}
		switch event.Kind {
		case callgate.EventOutput:
			printed.Write(event.Output.Text)
			lost += event.Output.Lost
		case callgate.EventEnd:
			said = event.End.Answer
		}
	}
	if printed.String() != want.String() || lost > 0 {
		t.Errorf("the events have %d of %d bytes, %d are reported lost; the model said %q", printed.Len(), want.Len(), lost, said)
	}
}
