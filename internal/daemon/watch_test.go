//go:build unix

package daemon_test

import (
	"context"
	"encoding/json"
	"testing"

	"callgate/internal/daemon"
	"callgate/internal/kernel"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol"
	"callgate/tool"
)

// A client that follows sees what a call prints while it runs, and then its end.
func TestWatchersSeeOutput(t *testing.T) {
	state := t.TempDir()
	seen := make(chan struct{})
	talk := &tool.Tool{
		ID:      tool.ID{Namespace: "demo", Name: "talk", Version: tool.Version{Major: 1}},
		Spec:    tool.Spec{Description: "talks until it is heard", Input: json.RawMessage(`{"type":"object"}`)},
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.Write},
		Handler: tool.HandlerFunc(func(ctx context.Context, _ tool.Call, g tool.Grant) (*tool.Result, error) {
			for {
				g.Output("stdout", []byte("still here\n"))
				select {
				case <-seen:
					return tool.OK("heard", nil)
				case <-ctx.Done():
					return nil, ctx.Err()
				default:
				}
			}
		}),
	}
	d, err := daemon.Start(t.Context(), kernel.Config{State: state, Tools: []*tool.Tool{talk}})
	ok(t, err)
	defer func() { ok(t, d.Stop()) }()
	s, err := d.Kernel.OpenSession(t.Context(), session.Spec{Workspace: t.TempDir()})
	ok(t, err)
	go s.Call(t.Context(), session.CallRequest{Name: "demo.talk", Args: nil})
	heard := false
	for e, err := range dial(state, "").Follow(t.Context(), 0, true) {
		ok(t, err)
		if e.Output != nil && !heard {
			if heard = true; string(e.Output.Text) != "still here\n" || e.Output.Stream != "stdout" {
				t.Errorf("heard %+v", e.Output)
			}
			close(seen)
		}
		if e.Record != nil && e.Record.Kind == protocol.RecordKindEnded {
			break
		}
	}
	if !heard {
		t.Error("the call ended, and its output did not come")
	}
}
