package gate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"callgate/internal/gate"
	"callgate/tool"
)

func TestMiddlewareOfAModule(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	tries := 0
	flaky := func(kind tool.Kind) tool.HandlerFunc {
		return func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
			if tries++; tries < 3 {
				return nil, tool.Errorf("t", kind, "not yet")
			}
			return tool.OK("at last", nil)
		}
	}
	twice := writes
	twice.Idempotent = true
	h.add(t, "r:read@1.0.0", anyObject, reads, flaky(tool.Unavailable))
	h.add(t, "r:write@1.0.0", anyObject, writes, flaky(tool.Unavailable))
	h.add(t, "r:again@1.0.0", anyObject, twice, flaky(tool.Unavailable))
	h.add(t, "r:wrong@1.0.0", anyObject, reads, flaky(tool.Invalid))
	h.add(t, "a:read@1.0.0", anyObject, reads, says("seen"))
	h.add(t, "s:slow@1.0.0", anyObject, reads, func(ctx context.Context, _ tool.Call, _ tool.Grant) (*tool.Result, error) {
		<-ctx.Done()
		return nil, errors.New("stopped")
	})
	h.modules.Middleware = map[string]gate.Middleware{
		"r": {Retry: gate.Retry{Attempts: 3, Backoff: time.Microsecond, On: []tool.Kind{tool.Unavailable}}},
		"a": {Audit: true},
		"s": {Timeout: time.Millisecond},
	}
	for _, c := range []struct {
		name   string
		status tool.Status
		tries  int
		story  string
	}{
		{"r.read", tool.Success, 3, "noted, noted, ended allow success"},
		{"r.again", tool.Success, 3, "asked allow, begun, noted, noted, ended success"},
		{"r.write", tool.Failure, 1, "asked allow, begun, ended error"},
		{"r.wrong", tool.Failure, 1, "ended allow error"},
		{"a.read", tool.Success, 0, "asked allow, begun, ended success"},
		{"s.slow", tool.Failure, 0, "ended allow error"},
	} {
		tries = 0
		r := h.call(t, c.name, `{}`)
		if r.Status != c.status || tries != c.tries {
			t.Errorf("%s: %s after %d tries (%s)", c.name, r.Status, tries, r.Summary)
		}
		if got := h.story(t, r.Call); got != c.story {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

func TestAgentSeesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	for _, id := range []string{"a:one@1.0.0", "a:two@1.0.0", "b:one@1.0.0", "c:one@1.0.0"} {
		h.add(t, id, anyObject, reads, says("seen"))
	}
	h.rules.Only = map[string][]string{"a": {"one"}, "b": nil}
	for name, want := range map[string]tool.Status{"a.one": tool.Success, "a.two": tool.Failure, "b.one": tool.Success, "c.one": tool.Failure} {
		if r := h.call(t, name, `{}`); r.Status != want {
			t.Errorf("%s: %s %q", name, r.Status, r.Summary)
		}
	}
	h.id.Principal.Daemon = true
	if r := h.call(t, "c.one", `{}`); r.Status != tool.Success {
		t.Errorf("the kernel itself: %q", r.Summary)
	}
}
