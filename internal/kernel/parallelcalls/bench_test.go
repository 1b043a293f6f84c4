package parallelcalls_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// BenchmarkParallel is what a run_parallel of 50 calls that do nothing costs beside one
// such call, for a tool that only reads and for one that leaves something behind.
func BenchmarkParallel(b *testing.B) {
	for name, effect := range map[string]tool.SideEffect{"read": tool.None, "write": tool.Write} {
		k := kerneltest.Open(b, b.TempDir(), &tool.Tool{
			ID:      tool.ID{Namespace: "bench", Name: name, Version: tool.Version{Major: 1}},
			Spec:    tool.Spec{Description: "does nothing", Input: json.RawMessage(`{"type":"object"}`)},
			Runtime: tool.Runtime{Risk: tool.Low, SideEffect: effect},
			Handler: tool.HandlerFunc(func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
				return tool.OK("", nil)
			}),
		})
		s := kerneltest.OpenSession(b, k, b.TempDir())
		one := `{"name":"bench.` + name + `"}`
		for of, call := range map[string]session.CallRequest{
			"one":   {Name: "bench." + name, Args: json.RawMessage("{}")},
			"fifty": {Name: "run_parallel", Args: json.RawMessage(`{"actions":[` + one + strings.Repeat(","+one, 49) + `]}`)},
		} {
			b.Run(name+"/"+of, func(b *testing.B) {
				for b.Loop() {
					if r := s.Call(b.Context(), call); r.Status != tool.Success {
						b.Fatal(r.Summary)
					}
				}
			})
		}
	}
}
