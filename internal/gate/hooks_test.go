package gate_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/policy"
	"callgate/tool"
)

// testHooks are hooks that say what a test wants.
type testHooks struct {
	before func(*gate.HookedCall) (gate.HookVerdict, error)
	shape  func(*tool.Result) bool
	after  func(*gate.HookedCall, *tool.Result) []string
}

func (h *testHooks) Before(_ context.Context, c *gate.HookedCall) (gate.HookVerdict, error) {
	if h.before == nil {
		return gate.HookVerdict{}, nil
	}
	return h.before(c)
}

func (h *testHooks) Shape(_ *gate.HookedCall, r *tool.Result) bool {
	return h.shape != nil && h.shape(r)
}

func (h *testHooks) After(_ context.Context, c *gate.HookedCall, r *tool.Result) []string {
	if h.after == nil {
		return nil
	}
	return h.after(c, r)
}

// pathTool registers a tool with a path. It notes the arguments that each call ran with.
func pathTool(t *testing.T, h *harness, r tool.Runtime, ran *[]string) {
	t.Helper()
	mode := tool.X
	if !r.SideEffect.Durable() {
		mode = tool.S
	}
	r.Effects = []tool.Effect{{Resource: "file:{path}", Mode: mode}}
	const schema = `{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}},"required":["path"]}`
	h.add(t, "t:write@1.0.0", schema, r, func(_ context.Context, c tool.Call, _ tool.Grant) (*tool.Result, error) {
		*ran = append(*ran, string(c.Args))
		return tool.OK("written", nil)
	})
}

// Hooks narrow, ask and change; what they changed is judged as if it had been asked for.
func TestHooksBeforeACall(t *testing.T) {
	t.Parallel()
	refuse := func(*gate.HookedCall) (gate.HookVerdict, error) {
		return gate.HookVerdict{}, tool.Errorf("hook.x", tool.Denied, "the hook x says no")
	}
	change := func(args string) func(*gate.HookedCall) (gate.HookVerdict, error) {
		return func(*gate.HookedCall) (gate.HookVerdict, error) {
			return gate.HookVerdict{Args: json.RawMessage(args), Changes: []string{"the hook x changed path"}}, nil
		}
	}
	for _, c := range []struct {
		name    string
		before  func(*gate.HookedCall) (gate.HookVerdict, error)
		runtime tool.Runtime
		daemon  bool
		status  tool.Status
		words   string
		ran     string
		story   string
	}{
		{"refused", refuse, writes, false, tool.Refused, "the hook x says no", "", "asked refuse"},
		{"refused read", refuse, reads, false, tool.Refused, "the hook x says no", "", "asked refuse"},
		{"refused before a human is asked", refuse, asks, false, tool.Refused, "the hook x says no", "", "asked refuse"},
		{"changed", change(`{"path":"b","n":"2"}`), writes, false, tool.Success, "written", `{"n":2,"path":"b"}`,
			"asked allow, begun, ended success"},
		{"changed to what the schema refuses", change(`{"n":2}`), writes, false, tool.Failure, "path", "", "asked refuse"},
		{"changed to what the rules deny", change(`{"path":"secret/a"}`), writes, false, tool.Refused, "not allowed", "",
			"asked refuse"},
		{"changed to what is outside", change(`{"path":"/etc/passwd"}`), writes, false, tool.Refused, "outside", "",
			"asked refuse"},
		{"the kernel asks nobody", func(*gate.HookedCall) (gate.HookVerdict, error) {
			return gate.HookVerdict{Ask: "the hook x asks"}, nil
		}, writes, true, tool.Refused, "nobody can be asked", "", "asked refuse"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := openWithRules(t, policy.Capabilities{DefaultPolicy: "auto", Deny: []policy.Entry{
				{Module: "t", Match: map[string]any{"path": "secret/**"}},
			}})
			var ran []string
			pathTool(t, h, c.runtime, &ran)
			h.id.Principal.Daemon = c.daemon
			h.rules.Hooks = &testHooks{before: c.before}
			r := h.call(t, "t.write", `{"path":"a"}`)
			if r.Status != c.status || !strings.Contains(r.Summary, c.words) || strings.Join(ran, " ") != c.ran {
				t.Errorf("%s %q, ran %v", r.Status, r.Summary, ran)
			}
			if got := h.story(t, r.Call); got != c.story {
				t.Errorf("story %q, want %q", got, c.story)
			}
			if c.ran != "" && !slices.Contains(r.Warnings, "the hook x changed path") {
				t.Errorf("the caller was told %q", r.Warnings)
			}
		})
	}
}

// A human who is asked because of a hook is asked each time, and what the human edits is
// shown to the hooks, which may refuse it and change nothing.
func TestHooksAndAHuman(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer approval.Answer
		status tool.Status
		words  string
		ran    string
	}{
		{"yes", approval.Answer{Approve: true}, tool.Success, "written", `{"path":"changed"}`},
		{"no", approval.Answer{}, tool.Refused, "a human refused", ""},
		{"edited", approval.Answer{Approve: true, Args: json.RawMessage(`{"path":"c"}`)}, tool.Success, "written", `{"path":"c"}`},
		{"edited to what the hook refuses", approval.Answer{Approve: true, Args: json.RawMessage(`{"path":"bad"}`)},
			tool.Refused, "the hook says no", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := openWithRules(t, policy.Capabilities{DefaultPolicy: "auto"})
			h.id.NoWait = false
			var ran []string
			pathTool(t, h, writes, &ran)
			var seen []bool
			h.rules.Hooks = &testHooks{before: func(call *gate.HookedCall) (gate.HookVerdict, error) {
				seen = append(seen, call.Again)
				if strings.Contains(string(call.Call.Args), "bad") {
					return gate.HookVerdict{}, tool.Errorf("hook", tool.Denied, "the hook says no")
				}
				return gate.HookVerdict{Args: json.RawMessage(`{"path":"changed"}`), Ask: "the hook asks"}, nil
			}}
			done := make(chan *tool.Result, 1)
			go func() { done <- h.call(t, "t.write", `{"path":"a"}`) }()
			request := nextRequest(t, h, done)
			if !strings.Contains(request.Reason, "the hook asks") || len(request.Choices) > 0 || request.Session != nil {
				t.Errorf("asked: %q, a yes may last %v %v", request.Reason, request.Choices, request.Session)
			}
			ok(t, h.Approvals.Answer(t.Context(), human, request.ID, c.answer))
			r := <-done
			if r.Status != c.status || !strings.Contains(r.Summary, c.words) || strings.Join(ran, " ") != c.ran {
				t.Errorf("%s %q, ran %v", r.Status, r.Summary, ran)
			}
			if seen[0] || len(c.answer.Args) > 0 && !(len(seen) == 2 && seen[1]) {
				t.Errorf("the hook was asked %v", seen)
			}
		})
	}
}

// What hooks do after a call finds its locks released and its end on record; what they make of a
// result is on record too.
func TestHooksAfterACall(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	var ran []string
	pathTool(t, h, writes, &ran)
	hooks := &testHooks{shape: func(r *tool.Result) bool { r.Summary += ", marked"; return true }}
	hooks.after = func(c *gate.HookedCall, r *tool.Result) []string {
		if held := h.locks.Snapshot().Held; len(held) > 0 {
			t.Errorf("held: %+v", held)
		}
		c.Note("the hook x was here")
		if got := h.story(t, c.Call.ID); got != "asked allow, begun, ended success, noted" {
			t.Errorf("story %q", got)
		}
		return []string{"it was formatted"}
	}
	h.rules.Hooks = hooks
	r := h.call(t, "t.write", `{"path":"a"}`)
	if r.Summary != "written, marked" || !slices.Equal(r.Warnings, []string{"it was formatted"}) {
		t.Errorf("%+v", r)
	}
	if kept, err := h.Collect(t.Context(), r.Call); err != nil || kept.Summary != "written, marked" {
		t.Errorf("on record: %+v, %v", kept, err)
	}
	many := h.CallAll(t.Context(), h.caller(), []gate.CallRequest{
		{Name: "t.write", Args: json.RawMessage(`{"path":"a"}`)}, {Name: "t.write", Args: json.RawMessage(`{"path":"a"}`)},
	}, nil)
	for _, r := range many {
		if r.Summary != "written, marked" {
			t.Errorf("%+v", r)
		}
	}
}
