package forward_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/internal/daemon/forward"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/internal/token"
	"callgate/tool"
)

// counting is a tool that counts how often it runs.
func counting(t *testing.T) (*tool.Tool, *atomic.Int32) {
	ran := &atomic.Int32{}
	count, err := tool.Func("demo.count", "Counts.", tool.Runtime{
		Risk: tool.Low, SideEffect: tool.External, Effects: []tool.Effect{{Resource: "demo:count", Mode: tool.X}},
	}, func(context.Context, struct{}) (int32, error) { return ran.Add(1), nil })
	kerneltest.OK(t, err)
	return count, ran
}

// count makes a named call at an address of a node.
func (n *node) count(value, address, name string) (int, tool.Result) {
	n.Helper()
	status, text := n.with(value, http.MethodPost, address+"/v1/tools/demo.count/call", `{"args":{}}`,
		func(r *http.Request) { r.Header.Set("Idempotency-Key", name) })
	var r tool.Result
	if status == http.StatusOK {
		kerneltest.OK(n, json.Unmarshal([]byte(text), &r))
	}
	return status, r
}

// A call that is sent to several nodes under one name is made once, and each of them answers.
func TestNamedCallIsMadeOnce(t *testing.T) {
	t.Parallel()
	tools, ran := counting(t)
	all := newShared(t, 3, tools)
	value, _ := all[0].token(token.Operator)
	var at [3]string
	for i, n := range all {
		at[i] = n.web().URL()
	}
	var done sync.WaitGroup
	var answers [9]tool.Result
	for i := range answers {
		done.Go(func() { _, answers[i] = all[i%3].count(value, at[i%3], "monday") })
	}
	done.Wait()
	for _, r := range answers {
		if string(r.Data) != "1" || r.Call != answers[0].Call {
			t.Errorf("answered %+v", r)
		}
	}
	if _, r := all[1].count(value, at[1], "tuesday"); string(r.Data) != "2" || ran.Load() != 2 {
		t.Errorf("another name: %+v, %d calls", r, ran.Load())
	}
}

// A call in a session of another node is claimed there.
func TestNamedCallInASessionElsewhere(t *testing.T) {
	t.Parallel()
	tools, ran := counting(t)
	all := newShared(t, 3, tools)
	a, b, c := all[0], all[1], all[2]
	value, _ := a.token(token.Operator)
	at := a.web().URL()
	_, first := a.with(value, http.MethodPost, at+"/v1/sessions?node="+b.id, `{}`)
	var opened protocol.Session
	kerneltest.OK(t, json.Unmarshal([]byte(first), &opened))
	status, text := a.with(value, http.MethodPost, at+"/v1/sessions/"+opened.ID+"/calls", `{"name":"demo.count","args":{}}`,
		func(r *http.Request) { r.Header.Set("Idempotency-Key", "monday") })
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	for _, n := range []*node{c, b, a} {
		if status, r := n.count(value, n.web().URL(), "monday"); string(r.Data) != "1" || ran.Load() != 1 {
			t.Errorf("%s answers %d %+v, %d calls", n.id, status, r, ran.Load())
		}
	}
}

// losing is names at a node that dies when it has claimed one.
type losing struct{ forward.Names }

func (l losing) Claim(ctx context.Context, name [32]byte, call string) (node, id string, err error) {
	_, _, _ = l.Names.Claim(ctx, name, call)
	return "", "", errors.New("the machine is gone")
}

// A call of a dead node is answered from its journal, or made if it had not begun.
func TestNamedCallOfADeadNode(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]bool{"it had ended": false, "it had not begun": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tools, ran := counting(t)
			all := newShared(t, 3, tools)
			a := all[0]
			if dies {
				a.front(func(o *forward.Options) {
					o.Directory = forward.Nodes(kernel.NodeOf(a.kernel))
					o.Names = losing{forward.ClaimedNames(kernel.NodeOf(a.kernel), a.kernel.Artifacts)}
				})
			}
			value, _ := a.token(token.Operator)
			status, first := a.count(value, a.web().URL(), "monday")
			if died := status >= 400; died != dies {
				t.Fatalf("%d %+v", status, first)
			}
			kerneltest.OK(t, a.kernel.Close())
			for _, n := range all[1:] {
				status, again := n.count(value, n.web().URL(), "monday")
				if string(again.Data) != "1" || ran.Load() != 1 || !dies && again.Call != first.Call {
					t.Errorf("answered %d %+v after %+v, %d calls", status, again, first, ran.Load())
				}
			}
		})
	}
}
