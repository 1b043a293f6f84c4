package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/journal/outputbus"
	"callgate/tool"
)

// thingTools adds a tool for each way to touch a thing. Each tells in done what it did.
func thingTools(t *testing.T, h *harness, done func(string)) {
	const on = `{"type":"object","properties":{"on":{"type":"string"},"mark":{"type":"string"}}}`
	for name, r := range map[string]tool.Runtime{"look": reads, "update": writes, "replace": writes, "ask": asks} {
		mode := map[string]tool.Mode{"look": tool.S, "update": tool.U, "replace": tool.X, "ask": tool.X}[name]
		r.Effects = []tool.Effect{{Resource: "thing:{on}", Mode: mode}}
		h.add(t, "t:"+name+"@1.0.0", on, r, func(_ context.Context, c tool.Call, _ tool.Grant) (*tool.Result, error) {
			var in struct{ On, Mark string }
			if err := json.Unmarshal(c.Args, &in); err != nil {
				return nil, err
			}
			if in.Mark == "fail" {
				return nil, tool.Errorf("t", tool.Failed, "as it was told")
			}
			done(in.Mark)
			return tool.OK(in.On, nil)
		})
	}
}

// marked collects marks in the order they come.
type marked struct {
	mu  sync.Mutex
	all []string
}

func (m *marked) add(mark string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, mark)
}

func (m *marked) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.all, " ")
}

func ask(name, on, mark string) gate.CallRequest {
	return gate.CallRequest{Name: "t." + name, Args: json.RawMessage(fmt.Sprintf(`{"on":%q,"mark":%q}`, on, mark))}
}

func (h *harness) answer(t *testing.T, id string, a approval.Answer) {
	t.Helper()
	human := approval.Credential{Key: humanKey, By: "ada", PID: approval.Unknown}
	if err := h.Approvals.Answer(context.WithoutCancel(t.Context()), human, id, a); err != nil {
		t.Error(err)
	}
}

// The order does not depend on the modes, and a call that fails, is refused or does not
// fit its schema holds nobody up.
func TestTurnsOfABatch(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	var order marked
	thingTools(t, h, order.add)
	var refused sync.WaitGroup
	refused.Go(func() {
		for _, r := range pending(t, h) {
			h.answer(t, r.ID, approval.Answer{})
		}
	})
	var told marked // of those that ran
	results := h.CallAll(t.Context(), h.caller(), []gate.CallRequest{
		ask("update", "a", "1"), ask("look", "a", "2"), ask("update", "a", "3"), ask("update", "a", "fail"),
		ask("ask", "a", "refused"), {Name: "t.update", Args: json.RawMessage(`{"on":1e}`)}, ask("look", "a", "4"),
		ask("replace", "a", "5"), ask("look", "a", "6"),
	}, func(i int, r *tool.Result) {
		if r.Status == tool.Success {
			told.add(fmt.Sprint(i))
		}
	})
	refused.Wait()
	if order.String() != "1 2 3 4 5 6" {
		t.Errorf("they ran as %s", &order)
	}
	if told.String() != "0 1 2 6 7 8" {
		t.Errorf("they were told as %s", &told)
	}
	for i, want := range []tool.Status{"", "", "", tool.Failure, tool.Refused, tool.Failure, "", "", ""} {
		if want == "" {
			want = tool.Success
		}
		if results[i].Status != want {
			t.Errorf("%d: %+v", i, results[i])
		}
	}
}

// What a human edits counts: the edited call comes after the earlier ones that it
// touches now, and before the later ones that it touches now. Who watches a call that
// waits for long learns for which.
func TestEditedCallInABatch(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	config := h.Config
	config.Output = &outputbus.Bus{}
	h.Gate = gate.New(config)
	heard := h.Output.Subscribe(t.Context())
	var order marked
	first := make(chan struct{})
	thingTools(t, h, func(mark string) {
		if mark == "1" {
			<-first
		}
		order.add(mark)
	})
	var edited sync.WaitGroup
	edited.Go(func() {
		h.answer(t, pending(t, h)[0].ID, approval.Answer{Approve: true, Args: json.RawMessage(`{"on":"a","mark":"2"}`)})
		for out := range heard.All() {
			if out.Call != "edited" {
				continue
			}
			const want = "waiting for call first (t.update, for ada/test in s1), which stands before this call " +
				"in the same answer and touches the same thing\n"
			if out.Stream != "waiting" || string(out.Text) != want {
				t.Errorf("its watchers hear %s %q", out.Stream, out.Text)
			}
			break
		}
		close(first)
	})
	batch := []gate.CallRequest{
		ask("update", "a", "1"), ask("ask", "b", "0"), ask("look", "a", "3"), ask("look", "a", "4"),
	}
	batch[0].ID, batch[1].ID = "first", "edited"
	results := h.CallAll(t.Context(), h.caller(), batch, nil)
	edited.Wait()
	if got := order.String(); got != "1 2 3 4" && got != "1 2 4 3" {
		t.Errorf("they ran as %s", got)
	}
	if results[1].Summary != "a" {
		t.Errorf("the edited one: %+v", results[1])
	}
}

// A call that is left waiting for a human has not happened, which its answer says: the
// calls after it go on.
func TestLeftWaitingInABatch(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	var order marked
	thingTools(t, h, order.add)
	left := ask("ask", "a", "1")
	left.NoWait = true
	results := h.CallAll(t.Context(), h.caller(), []gate.CallRequest{left, ask("look", "a", "2")}, nil)
	if results[0].Status != tool.Waiting || results[1].Status != tool.Success || order.String() != "2" {
		t.Errorf("%+v, %+v, %s", results[0], results[1], &order)
	}
}

// A handler that does not stop in time keeps its place: a reader does not see what it
// is still changing.
func TestHandlerThatRunsOnInABatch(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{Timeout: time.Millisecond, Grace: time.Millisecond})
	var order marked
	thingTools(t, h, order.add)
	slow := writes
	slow.Effects = []tool.Effect{{Resource: "thing:a", Mode: tool.U}}
	answered := make(chan struct{})
	h.add(t, "t:slow@1.0.0", anyObject, slow, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
		<-answered
		order.add("1")
		return tool.OK("at last", nil)
	})
	results := h.CallAll(t.Context(), h.caller(), []gate.CallRequest{
		{Name: "t.slow", Args: json.RawMessage(`{}`)}, ask("look", "a", "2"),
	}, func(i int, _ *tool.Result) {
		if i == 0 {
			close(answered)
		}
	})
	if results[0].Error == nil || results[0].Error.Kind != tool.Timeout || order.String() != "1 2" {
		t.Errorf("%+v, %+v, %s", results[0], results[1], &order)
	}
}

// Two sessions whose answers overlap in what they touch, and whose humans answer in
// any order: all of it ends, and no lock stays.
func TestOverlappingBatchesEnd(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	thingTools(t, h, func(string) {})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	stop := make(chan struct{})
	var humans, sessions sync.WaitGroup
	humans.Go(func() {
		random := rand.New(rand.NewPCG(seed, 0))
		for {
			select {
			case <-stop:
				return
			default:
			}
			list, err := h.Approvals.List(context.WithoutCancel(t.Context()), approval.Pending, 0)
			if err != nil {
				t.Error(err)
				return
			}
			if len(list) > 0 {
				h.answer(t, list[random.IntN(len(list))].ID, approval.Answer{Approve: random.IntN(4) > 0})
			}
		}
	})
	names := []string{"look", "update", "replace", "ask"}
	for n, session := range []string{"s1", "s2", "s3"} {
		id := h.id
		id.Principal.Session = session
		caller, err := gate.NewCaller(id, h.at, h.rules, h.modules, gate.Observer{})
		ok(t, err)
		sessions.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(n+1)))
			for range 30 {
				var batch []gate.CallRequest
				for range 2 + random.IntN(5) {
					batch = append(batch, ask(names[random.IntN(len(names))], string(rune('a'+random.IntN(3))), "x"))
				}
				for i, r := range h.CallAll(t.Context(), caller, batch, nil) {
					if r.Status != tool.Success && r.Status != tool.Refused {
						t.Errorf("seed %d: %s %s: %+v", seed, batch[i].Name, batch[i].Args, r)
					}
				}
			}
		})
	}
	sessions.Wait()
	close(stop)
	humans.Wait()
	if held := h.locks.Snapshot(); len(held.Held)+len(held.Waiting) != 0 {
		t.Errorf("locks are left: %+v", held)
	}
}
