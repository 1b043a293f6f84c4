package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
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

// Humans are asked about the whole batch at once. A call that touches what a call
// before it waits to be approved for comes after that one; one that touches something
// else does not wait, nor does anybody outside the batch.
func TestBatchAndAPerson(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	thing := func(name string) []tool.Effect { return []tool.Effect{{Resource: "thing:" + name, Mode: tool.X}} }
	var mu sync.Mutex
	var order []string
	add := func(name string, r tool.Runtime, on string, ran chan struct{}) {
		r.Effects = thing(on)
		h.add(t, "t:"+name+"@1.0.0", anyObject, r, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
			if ran != nil {
				close(ran)
			}
			return tool.OK(name, nil)
		})
	}
	elsewhere, outside := make(chan struct{}), make(chan struct{})
	add("asks", asks, "one", nil)
	add("after", writes, "one", nil)
	add("asks_too", asks, "one", nil)
	add("elsewhere", writes, "two", elsewhere)
	add("outside", writes, "one", outside)
	var answered sync.WaitGroup
	answered.Go(func() {
		<-elsewhere // only then do the people answer, the later question first
		if r := h.call(t, "t.outside", `{}`); r.Status != tool.Success {
			t.Errorf("outside the batch: %+v", r)
		}
		for len(pending(t, h)) < 2 {
			runtime.Gosched()
		}
		list := pending(t, h)
		slices.SortFunc(list, func(a, b approval.Request) int { return -strings.Compare(a.Call.Name, b.Call.Name) })
		for _, r := range list {
			human := approval.Credential{Key: humanKey, By: "ada", PID: approval.Unknown}
			if err := h.Approvals.Answer(context.WithoutCancel(t.Context()), human, r.ID, approval.Answer{Approve: true}); err != nil {
				t.Error(err)
			}
		}
	})
	results := h.CallAll(t.Context(), h.caller(), requests("t.asks", "t.after", "t.asks_too", "t.elsewhere"), nil)
	answered.Wait()
	for i, r := range results {
		if r.Status != tool.Success {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if got := strings.Join(order, " "); got != "elsewhere outside asks after asks_too" {
		t.Errorf("they ran as %s", got)
	}
}

// requests makes requests without arguments.
func requests(names ...string) (all []gate.CallRequest) {
	for _, name := range names {
		all = append(all, gate.CallRequest{Name: name, Args: json.RawMessage(`{}`)})
	}
	return all
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
	waiting, err := h.Approvals.List(t.Context(), approval.Pending, 0)
	ok(t, err)
	ok(t, h.Approvals.Answer(t.Context(), human, waiting[0].ID, approval.Answer{Feedback: "not today"}))
	if f, r := fate("mine-2"); f != gate.Ended || r.Status != tool.Refused || !strings.Contains(r.Summary, "not today") {
		t.Errorf("after a no whose end was not recorded: %v %+v", f, r)
	}
	h.Call(t.Context(), h.caller(), gate.CallRequest{ID: "mine-3", Name: "t.nothing", Args: json.RawMessage(`{}`)})
	if f, _ := fate("mine-3"); f != gate.NotStarted {
		t.Errorf("refused: %v", f)
	}
}
