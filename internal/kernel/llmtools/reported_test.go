package llmtools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/modeluse"
	"callgate/llmtool"
	"callgate/tool"
)

// asker is a tool with Go code of its own that asks a model itself, and reports that.
type asker struct{}

func (asker) Execute(_ context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	attempts := []tool.Attempt{
		{Model: "acme/own", Outcome: "truncated", Input: 10, Output: 5, Cost: 3, Priced: true},
		{Model: "acme/own", Outcome: "ok", Input: 10, Output: 9, Cost: 4, Priced: true},
	}
	if string(call.Args) == `{"x":2}` {
		panic("no")
	}
	if string(call.Args) != `{}` {
		failed := tool.Errorf("acme.ask", tool.Failed, "it was cut off")
		return &tool.Result{Status: tool.Failure, Error: failed, Attempts: attempts[:1]}, nil
	}
	return &tool.Result{Status: tool.Success, Data: json.RawMessage(`1`), Attempts: attempts}, nil
}

// TestHooksOfPlainTools: the hooks of a kernel are told of a tool with Go code of its own, with an empty model, and
// not of a call that did not reach it, nor of a module's tool.
func TestHooksOfPlainTools(t *testing.T) {
	own := kerneltest.NewTool(t, "acme.ask", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}, nil)
	own.Handler, own.Spec.Input = asker{}, json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`)
	var seen []string
	k := kerneltest.OpenWith(t, kernel.Config{State: kerneltest.StateDir(t), LLMHooks: llmtool.Hooks{
		OnInternalToolCallStart: func(p llmtool.CallStart) { seen = append(seen, "start "+p.ToolID+p.ChosenModel) },
		OnInternalToolCallComplete: func(p llmtool.CallComplete) {
			seen = append(seen, fmt.Sprint("complete ", p.ChosenModel, p.Attempts, " ", p.Usage.Output))
		},
		OnInternalToolCallError: func(p llmtool.CallError) { seen = append(seen, "error "+p.ChosenModel+p.Error) },
	}})
	kerneltest.OK(t, k.Register("acme", own))
	s := kerneltest.OpenSession(t, k, t.TempDir())
	for _, args := range []string{`{}`, `{"x": 1}`, `{"x": "no number"}`, `{"x":2}`} {
		kerneltest.Call(t, s, "acme.ask", args)
	}
	kerneltest.Call(t, s, "filesystem.list", `{}`)
	want := []string{"start acme:ask@1.0.0", "complete 1 14", "start acme:ask@1.0.0", "error it was cut off",
		"start acme:ask@1.0.0", "error the tool panicked: no (this is a defect in the tool; other arguments may avoid it)"}
	if !slices.Equal(seen, want) {
		t.Errorf("the hooks saw %q, want %q", seen, want)
	}
}

// TestReportedAttempts: what a tool's own code says that it asked of models is on record, of calls
// that failed too, and counts where models are compared.
func TestReportedAttempts(t *testing.T) {
	own := kerneltest.NewTool(t, "acme.ask", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}, nil)
	own.Handler = asker{}
	k := kerneltest.Open(t, kerneltest.StateDir(t), own)
	s := kerneltest.OpenSession(t, k, t.TempDir())
	good := kerneltest.Call(t, s, "acme.ask", `{}`)
	if good.Status != tool.Success || len(good.Attempts) != 2 {
		t.Fatalf("the result is %+v", good)
	}
	if r := kerneltest.Call(t, s, "acme.ask", `{"x": 1}`); r.Status == tool.Success || len(r.Attempts) != 1 {
		t.Fatalf("the result is %+v", r)
	}
	kerneltest.OK(t, k.Journal.Flush(t.Context()))
	records, err := k.Journal.Read(t.Context(), journal.Query{Call: good.Call, Kind: journal.Ended})
	if err != nil || len(records) != 1 || len(records[0].End.Attempts) != 2 || records[0].End.Attempts[1].Cost != 4 {
		t.Fatalf("the record is %+v, %v", records, err)
	}
	rows, err := modeluse.Collect(t.Context(), k.Journal, modeluse.Query{Tool: "acme.ask"})
	if err != nil || len(rows) != 1 || rows[0].Calls != 2 || rows[0].Succeeded != 1 || rows[0].Cost != 10 ||
		rows[0].Outcomes["truncated"] != 2 {
		t.Errorf("the rows are %+v, %v", rows, err)
	}
}
