package gate_test

import (
	"context"
	"testing"

	"callgate/internal/gate"
	"callgate/tool"
)

// Where the disk has no room, a call that changes something is refused before its handler
// runs, and one that reads goes on.
func TestNoRoomStopsBeforeTheEffect(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		runtime tool.Runtime
		runs    bool
	}{
		"a read": {reads, true}, "a change": {writes, false},
		"an external effect": {tool.Runtime{SideEffect: tool.External, Risk: tool.Low}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, gate.Limits{})
			c := h.Config
			c.Room = func() error { return tool.Errorf("statedir", tool.Unavailable, "the disk is full") }
			h.Gate = gate.New(c)
			h.rules = gate.Rules{}
			ran := false
			h.add(t, "m:do@1.0.0", anyObject, test.runtime, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
				ran = true
				return tool.OK("done", nil)
			})
			h.id.Principal.Daemon = true // whatever the rules ask about
			r := h.call(t, "m.do", `{}`)
			if ran != test.runs || (r.Status == tool.Success) != test.runs {
				t.Errorf("it ran: %v, and the answer is %+v", ran, r)
			}
			if !test.runs && (r.Error == nil || r.Error.Kind != tool.Unavailable) {
				t.Errorf("the error is %+v", r.Error)
			}
			doubts, err := h.Journal.Doubts(t.Context())
			if err != nil || len(doubts) > 0 {
				t.Errorf("in doubt: %v, %v", doubts, err)
			}
		})
	}
}
