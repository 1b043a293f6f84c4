package gate_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/notice"
	"callgate/internal/journal"
	"callgate/tool"
)

// notify leaves a notice for the caller of a harness.
func (h *harness) notify() {
	h.Notify(notice.Notice{
		Principal: h.id.Principal, Workspace: h.at.Workspace, Text: "an earlier call of yours is in doubt",
		Doubt: &journal.Record{Kind: journal.Doubted, Call: "c0"},
	})
}

// A notice is for who comes back: a result that nobody reads does not take it.
func TestNoticeWaitsForAResultThatIsRead(t *testing.T) {
	t.Parallel()
	for name, unread := range map[string]func(t *testing.T, h *harness){
		"a setup step": func(t *testing.T, h *harness) {
			h.Call(t.Context(), h.caller().AsDaemon(), gate.CallRequest{Name: "t.read", Args: json.RawMessage(`{}`)})
		},
		"a call that comes by itself": func(t *testing.T, h *harness) {
			h.Call(t.Context(), h.caller(), gate.CallRequest{Name: "t.read", Args: json.RawMessage(`{}`), Unattended: true})
		},
		"a call whose caller goes": func(t *testing.T, h *harness) {
			ctx, cancel := context.WithCancel(t.Context())
			h.add(t, "t:left@1.0.0", anyObject, reads, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
				cancel()
				return tool.OK("seen", nil)
			})
			h.Call(ctx, h.caller(), gate.CallRequest{Name: "t.left", Args: json.RawMessage(`{}`)})
		},
		"a call that is approved after its caller has gone": func(t *testing.T, h *harness) {
			h.add(t, "t:asks@1.0.0", anyObject, asks, says("done"))
			waiting := h.Call(t.Context(), h.caller(), gate.CallRequest{
				Name: "t.asks", Args: json.RawMessage(`{}`), NoWait: true,
			})
			ok(t, h.Approvals.Answer(t.Context(), human, waiting.Approval, approval.Answer{Approve: true}))
			approved, err := h.Approvals.Get(t.Context(), waiting.Approval)
			ok(t, err)
			h.Approvals.Reserve(approved.ID)
			if r := h.Resume(t.Context(), h.caller(), approved); r.Status != tool.Success {
				t.Fatalf("%+v", r)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, gate.Limits{})
			h.add(t, "t:read@1.0.0", anyObject, reads, says("seen"))
			h.notify()
			unread(t, h)
			if got := h.story(t, "c0"); got != "" {
				t.Errorf("on record before anybody was told: %q", got)
			}
			if r := h.call(t, "t.read", `{}`); len(r.Warnings) != 1 {
				t.Errorf("the asker is told %q", r.Warnings)
			}
			if got := h.story(t, "c0"); got != "told" {
				t.Errorf("on record: %q", got)
			}
		})
	}
}

// A call that comes by itself asks nobody: it is refused, and nothing waits for an answer.
func TestUnattendedCallAsksNobody(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	h.add(t, "t:asks@1.0.0", anyObject, asks, says("done"))
	r := h.Call(t.Context(), h.caller(), gate.CallRequest{Name: "t.asks", Args: json.RawMessage(`{}`), Unattended: true})
	if tool.KindOf(r.Err()) != tool.Denied || !strings.Contains(r.Summary, "needs a human's approval") {
		t.Errorf("%+v", r)
	}
	if pending, err := h.Approvals.List(t.Context(), approval.Pending, 0); err != nil || len(pending) > 0 {
		t.Errorf("a human is asked: %v, %v", pending, err)
	}
	if got := h.story(t, r.Call); got != "asked refuse" {
		t.Errorf("on record: %q", got)
	}
}

// A result that cannot be recorded still says what it is recorded to have told.
func TestNoticeIsToldWithAnEndThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	file := filepath.Join(state, "callgate.db")
	h := openIn(t, state, gate.Limits{})
	h.add(t, "t:lose@1.0.0", anyObject, writes, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
		return &tool.Result{Summary: "lost"}, os.Rename(file, file+".away")
	})
	h.notify()
	r := h.call(t, "t.lose", `{}`)
	ok(t, os.Rename(file+".away", file))
	if r.Error == nil || r.Error.Kind != tool.InDoubt || len(r.Warnings) != 1 {
		t.Errorf("%+v", r)
	}
	if got := h.story(t, "c0"); got != "told" {
		t.Errorf("on record: %q", got)
	}
}
