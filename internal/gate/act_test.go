package gate_test

import (
	"context"
	"strings"
	"testing"

	"callgate/internal/gate"
	"callgate/tool"
)

// A kernel that may not act runs no handler, and the call's end is on record.
func TestNothingRunsInAKernelThatMayNotAct(t *testing.T) {
	t.Parallel()
	for name, runtime := range map[string]tool.Runtime{
		"a read": {SideEffect: tool.None}, "a change": {SideEffect: tool.Write},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, gate.Limits{})
			c := h.Config
			c.Act = func(context.Context, *tool.Tool, tool.Principal) (context.Context, func(), error) {
				return nil, nil, tool.Errorf("node", tool.Unavailable, "the database is out of reach")
			}
			h.Gate = gate.New(c)
			h.add(t, "m:do@1.0.0", `{"type":"object"}`, runtime, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
				t.Error("the handler ran")
				return nil, nil
			})
			r := h.call(t, "m.do", `{}`)
			if r.Error == nil || r.Error.Kind != tool.Unavailable || !strings.Contains(r.Summary, "out of reach") {
				t.Errorf("the answer is %+v", r)
			}
			if story := h.story(t, r.Call); !strings.Contains(story, "ended") {
				t.Errorf("on record is %s", story)
			}
		})
	}
}

// A handler that runs when its kernel may not act any more is cancelled, and its caller reads why.
func TestHandlersStopWithTheKernelsRight(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	acting, lose := context.WithCancelCause(t.Context())
	c, done := h.Config, false
	c.Act = func(ctx context.Context, _ *tool.Tool, _ tool.Principal) (context.Context, func(), error) {
		return acting, func() { done = true }, nil
	}
	h.Gate = gate.New(c)
	h.add(t, "m:do@1.0.0", `{"type":"object"}`, tool.Runtime{SideEffect: tool.Write},
		func(ctx context.Context, _ tool.Call, _ tool.Grant) (*tool.Result, error) {
			lose(tool.Errorf("node", tool.Unavailable, "the database is out of reach").WithHint("try again when it is back"))
			<-ctx.Done()
			return nil, ctx.Err()
		})
	r := h.call(t, "m.do", `{}`)
	if r.Error == nil || r.Error.Kind != tool.Cancelled || r.Error.Hint != "try again when it is back" ||
		!strings.Contains(r.Summary, "the call was stopped: the database is out of reach") {
		t.Errorf("the answer is %+v", r)
	}
	if !done {
		t.Error("the kernel is not told that the handler has stopped")
	}
}

// A handler can ask, right before it changes something, whether its kernel may act yet.
func TestHandlersAskBeforeTheyChangeSomething(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	c, away := h.Config, false
	c.Stopped = func() error {
		if away {
			return tool.Errorf("node", tool.Unavailable, "the database is out of reach")
		}
		return nil
	}
	h.Gate = gate.New(c)
	h.add(t, "m:do@1.0.0", `{"type":"object"}`, tool.Runtime{SideEffect: tool.Write},
		func(_ context.Context, _ tool.Call, g tool.Grant) (*tool.Result, error) {
			if err := g.MayChange(); err != nil {
				t.Errorf("before: %v", err)
			}
			away = true
			return nil, g.MayChange()
		})
	if r := h.call(t, "m.do", `{}`); r.Error == nil || r.Error.Kind != tool.Unavailable {
		t.Errorf("the answer is %+v", r)
	}
}
