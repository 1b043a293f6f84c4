package gate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate"
	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// unanswered is a handler whose effect may have happened.
func unanswered(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
	return nil, tool.Errorf("test", tool.InDoubt, "the server ended during it")
}

// TestUnansweredCallIsInDoubt: a call with an effect whose handler says that
// nobody knows is an open doubt, which a person can resolve; a call that only
// reads was unavailable.
func TestUnansweredCallIsInDoubt(t *testing.T) {
	t.Parallel()
	changes := tool.Runtime{
		SideEffect: tool.Write, Risk: tool.Low, Effects: []tool.Effect{{Resource: "workspace", Mode: tool.U}},
	}
	inside := func(ctx context.Context, c tool.Call, g tool.Grant) (*tool.Result, error) {
		_, err := unanswered(ctx, c, g)
		e := err.(*tool.Error)
		return &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e}, nil
	}
	late := func(ctx context.Context, c tool.Call, g tool.Grant) (*tool.Result, error) {
		<-ctx.Done()
		return unanswered(ctx, c, g)
	}
	slow := changes
	slow.Timeout = time.Millisecond
	slowRead := reads
	slowRead.Timeout = time.Millisecond
	for name, c := range map[string]struct {
		runtime tool.Runtime
		handler tool.HandlerFunc
		kind    tool.Kind
		says    string
		story   string
	}{
		"a change":               {changes, unanswered, tool.InDoubt, "look at file:", "asked allow, begun, doubted error, told, ended error"},
		"a change, as a result":  {changes, inside, tool.InDoubt, "look at file:", "asked allow, begun, doubted error, told, ended error"},
		"a change, out of time":  {slow, late, tool.InDoubt, "ended during it", "asked allow, begun, doubted error, told, ended error"},
		"a read":                 {reads, unanswered, tool.Unavailable, "nothing was changed", "ended allow error"},
		"a read that is audited": {reads, inside, tool.Unavailable, "nothing was changed", "ended allow error"},
		"a read, out of time":    {slowRead, late, tool.Timeout, "", "ended allow error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, gate.Limits{})
			h.add(t, "t:act@1.0.0", anyObject, c.runtime, c.handler)
			r := h.call(t, "t.act", `{}`)
			if r.Error == nil || r.Error.Kind != c.kind || !strings.Contains(r.Summary, c.says) {
				t.Fatalf("result %+v (%v)", r, r.Error)
			}
			if got := h.story(t, r.Call); got != c.story {
				t.Errorf("story %q", got)
			}
			open, err := h.Journal.Doubts(t.Context())
			ok(t, err)
			if c.kind != tool.InDoubt {
				if len(open) != 0 {
					t.Errorf("doubts %+v", open)
				}
				return
			}
			if len(open) != 1 || open[0].Call != r.Call || !strings.Contains(open[0].Note, "ended during it") {
				t.Fatalf("doubts %+v", open)
			}
			again, err := h.Journal.Recover(t.Context())
			ok(t, err)
			if len(again) != 0 {
				t.Errorf("it was put in doubt twice: %+v", again)
			}
			ok(t, h.Journal.Resolve(t.Context(), r.Call, doubt.Resolution{By: "ada"}))
			if open, _ = h.Journal.Doubts(t.Context()); len(open) != 0 {
				t.Errorf("still open: %+v", open)
			}
		})
	}
}
