package backgroundcalls_test

import (
	"context"
	"encoding/json"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// BenchmarkLaunch is what launching a call that does nothing costs beside making it.
func BenchmarkLaunch(b *testing.B) {
	k := kerneltest.Open(b, kerneltest.StateDir(b), &tool.Tool{
		ID:      tool.ID{Namespace: "bench", Name: "work", Version: tool.Version{Major: 1}},
		Spec:    tool.Spec{Description: "does nothing", Input: json.RawMessage(`{"type":"object"}`)},
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.Write},
		Handler: tool.HandlerFunc(func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
			return tool.OK("", nil)
		}),
	})
	s := kerneltest.OpenAccepted(b, k, inFolder(b, free))
	b.Run("call", func(b *testing.B) {
		for b.Loop() {
			if r := s.Call(b.Context(), session.CallRequest{Name: "bench.work", Args: []byte(`{}`)}); r.Status != tool.Success {
				b.Fatal(r.Summary)
			}
		}
	})
	b.Run("launch", func(b *testing.B) {
		for b.Loop() {
			_, begun := run(b, s, `{"name":"bench.work","settle":0}`)
			b.StopTimer()
			if err := k.Tasks.Wait(b.Context(), begun.TaskID); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	})
	b.Run("launch to its end", func(b *testing.B) {
		for b.Loop() {
			if _, at := run(b, s, `{"name":"bench.work","settle":10}`); at.Status != "completed" {
				b.Fatalf("%+v", at)
			}
		}
	})
}
