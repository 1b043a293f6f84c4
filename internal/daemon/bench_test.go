package daemon_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/daemon"
	"callgate/internal/kernel"
	"callgate/internal/protocol"
	"callgate/tool"
)

// BenchmarkParallel is what a client waits for one call that does nothing, and for a
// run_parallel of 50 of them.
func BenchmarkParallel(b *testing.B) {
	nothing, err := tool.Func("bench.nothing", "Does nothing.", tool.Runtime{Risk: tool.Low, SideEffect: tool.None},
		func(context.Context, struct{}) (string, error) { return "", nil })
	ok(b, err)
	state := b.TempDir()
	d, err := daemon.Start(b.Context(), kernel.Config{State: state, Tools: []*tool.Tool{nothing}})
	ok(b, err)
	defer func() { ok(b, d.Stop()) }()
	s, err := dial(state, "").OpenSession(b.Context(), protocol.OpenSession{Workspace: b.TempDir()})
	ok(b, err)
	const one = `{"name":"bench.nothing"}`
	for _, c := range []struct{ of, name, args string }{
		{"one", "bench.nothing", "{}"},
		{"fifty", "run_parallel", `{"actions":[` + one + strings.Repeat(","+one, 49) + `]}`},
	} {
		b.Run(c.of, func(b *testing.B) {
			for b.Loop() {
				r, err := s.Call(b.Context(), protocol.CallRequest{Name: c.name, Args: json.RawMessage(c.args)})
				if err != nil || r.Status != tool.Success {
					b.Fatal(r, err)
				}
			}
		})
	}
}
