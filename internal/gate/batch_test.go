package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/tool"
)

// Of the calls of a batch that touch the same thing, the first comes first;
// those that touch different things run side by side.
func TestBatchKeepsItsOrder(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	var mu sync.Mutex
	var order []string
	together := make(chan struct{}, 1)
	r := writes
	r.Effects = []tool.Effect{{Resource: "thing:{on}", Mode: tool.X}}
	h.add(t, "t:touch@1.0.0", `{"type":"object","properties":{"on":{"type":"string"},"mark":{"type":"string"}}}`, r,
		func(ctx context.Context, c tool.Call, _ tool.Grant) (*tool.Result, error) {
			var in struct{ On, Mark string }
			if err := json.Unmarshal(c.Args, &in); err != nil {
				return nil, err
			}
			if strings.HasPrefix(in.On, "meet") { // goes on only when another is there too
				select {
				case together <- struct{}{}:
				case <-together:
				}
			}
			mu.Lock()
			defer mu.Unlock()
			order = append(order, in.Mark)
			return tool.OK(in.Mark, nil)
		})
	var asks []gate.CallRequest
	for i := range 20 {
		asks = append(asks, gate.CallRequest{Name: "t.touch", Args: json.RawMessage(fmt.Sprintf(`{"on":"same","mark":"%02d"}`, i))})
	}
	asks = append(asks, gate.CallRequest{Name: "t.nothing", Args: json.RawMessage(`{}`)})
	results := h.CallAll(t.Context(), h.caller(), asks, nil)
	want := ""
	for i := range 20 {
		want += fmt.Sprintf("%02d ", i)
		if results[i].Summary != fmt.Sprintf("%02d", i) {
			t.Errorf("answer %d is %q", i, results[i].Summary)
		}
	}
	if got := strings.Join(order, " ") + " "; got != want {
		t.Errorf("they ran as %s", got)
	}
	if results[20].Status != tool.Failure {
		t.Errorf("the unknown tool gave %+v", results[20])
	}
	for _, r := range h.CallAll(t.Context(), h.caller(), []gate.CallRequest{
		{Name: "t.touch", Args: json.RawMessage(`{"on":"meet1","mark":"a"}`)},
		{Name: "t.touch", Args: json.RawMessage(`{"on":"meet2","mark":"b"}`)},
	}, nil) {
		if r.Status != tool.Success {
			t.Errorf("side by side: %+v", r)
		}
	}
}

// Nobody in a batch waits behind a person.
func TestBatchDoesNotWaitBehindAPerson(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	thing := []tool.Effect{{Resource: "thing:one", Mode: tool.X}}
	ran := make(chan struct{})
	asking, plain := asks, writes
	asking.Effects, plain.Effects = thing, thing
	h.add(t, "t:asks@1.0.0", anyObject, asking, says("at last"))
	h.add(t, "t:plain@1.0.0", anyObject, plain, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
		close(ran)
		return tool.OK("at once", nil)
	})
	go func() {
		<-ran // only then does the person answer
		for _, r := range pending(t, h) {
			human := approval.Credential{Key: humanKey, By: "ada", PID: approval.Unknown}
			if err := h.Approvals.Answer(context.WithoutCancel(t.Context()), human, r.ID, approval.Answer{Approve: true}); err != nil {
				t.Error(err)
			}
		}
	}()
	results := h.CallAll(t.Context(), h.caller(), []gate.CallRequest{
		{Name: "t.asks", Args: json.RawMessage(`{}`)}, {Name: "t.plain", Args: json.RawMessage(`{}`)},
	}, nil)
	if results[0].Summary != "at last" || results[1].Summary != "at once" {
		t.Errorf("%q, %q", results[0].Summary, results[1].Summary)
	}
}

func pending(t *testing.T, h *harness) []approval.Request {
	for {
		list, err := h.Approvals.List(context.WithoutCancel(t.Context()), approval.Pending, 0)
		if err != nil || len(list) > 0 {
			return list
		}
	}
}

func TestBatchIsCancelledWhole(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	slow := writes
	slow.Effects = []tool.Effect{{Resource: "thing:one", Mode: tool.X}}
	h.add(t, "t:slow@1.0.0", anyObject, slow, func(ctx context.Context, _ tool.Call, _ tool.Grant) (*tool.Result, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ask := gate.CallRequest{Name: "t.slow", Args: json.RawMessage(`{}`)}
	for i, r := range h.CallAll(ctx, h.caller(), []gate.CallRequest{ask, ask, ask}, nil) {
		if r.Error == nil || r.Error.Kind != tool.Cancelled {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if held := h.locks.Snapshot(); len(held.Held)+len(held.Waiting) != 0 {
		t.Errorf("locks are left: %+v", held)
	}
}

func TestOutcomeOfACall(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	h.add(t, "t:write@1.0.0", anyObject, writes, says("written"))
	h.add(t, "t:asks@1.0.0", anyObject, asks, says("at last"))
	fate := func(id string) (gate.Outcome, *tool.Result) {
		ok(t, h.Journal.Flush(t.Context()))
		f, r, err := h.Outcome(t.Context(), id)
		ok(t, err)
		return f, r
	}
	if f, _ := fate("mine-1"); f != gate.NotStarted {
		t.Errorf("before: %v", f)
	}
	if r := h.Call(t.Context(), h.caller(), gate.CallRequest{ID: "mine-1", Name: "t.write", Args: json.RawMessage(`{}`)}); r.Call != "mine-1" {
		t.Errorf("the call has another ID: %+v", r)
	}
	if f, r := fate("mine-1"); f != gate.Ended || r.Summary != "written" {
		t.Errorf("after: %v %+v", f, r)
	}
	h.Call(t.Context(), h.caller(), gate.CallRequest{ID: "mine-2", Name: "t.asks", Args: json.RawMessage(`{}`), NoWait: true})
	if f, _ := fate("mine-2"); f != gate.Pending {
		t.Errorf("while a human is asked: %v", f)
	}
	h.Call(t.Context(), h.caller(), gate.CallRequest{ID: "mine-3", Name: "t.nothing", Args: json.RawMessage(`{}`)})
	if f, _ := fate("mine-3"); f != gate.NotStarted {
		t.Errorf("refused: %v", f)
	}
}
