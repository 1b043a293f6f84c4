package control_test

import (
	"context"
	"encoding/json"
	"testing"

	"callgate/internal/control"
	"callgate/tool"
)

// FuzzParallel: whatever a model writes, run_parallel makes the calls that it reads
// beforehand for the gate, at most 50 of them, or says what is wrong.
func FuzzParallel(f *testing.F) {
	for _, seed := range []string{
		`{"actions":[{"name":"files.act_01","params":{"path":"a"}}]}`, `{"tasks":"[{\"tool\":\"x\",\"path\":1}]"}`,
		`{"steps":[{"name":"execute_tool","params":{"name":"y"}}]}`, `{"items":{}}`, `{"calls":[7]}`, `[]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, args string) {
		s := &stage{}
		var made []control.Target
		parallel := control.ParallelTool(
			func(string) (control.Session, error) { return s, nil },
			func(_ context.Context, _ tool.Call, targets []control.Target, done func(int, *tool.Result)) ([]*tool.Result, error) {
				made = targets
				results := make([]*tool.Result, len(targets))
				for i := range results {
					results[i] = &tool.Result{Status: tool.Success, Summary: "ran"}
					done(i, results[i])
				}
				return results, nil
			})
		call := tool.Call{Tool: parallel.ID, Args: json.RawMessage(args)}
		result, err := parallel.Handler.Execute(t.Context(), call, tool.Grant{})
		if (err == nil) == (len(made) == 0) || len(made) > control.MaxParallel {
			t.Fatalf("%d calls, and %v", len(made), err)
		}
		if err == nil && (len(result.Content) != len(made) || result.Status != tool.Success) {
			t.Fatalf("%+v", result)
		}
		foreseen, _ := parallel.Handler.(interface {
			Targets(json.RawMessage) ([]tool.Call, bool)
		}).Targets(call.Args)
		if err == nil && len(foreseen) != len(made) {
			t.Fatalf("%d calls were foreseen, %d made", len(foreseen), len(made))
		}
	})
}
