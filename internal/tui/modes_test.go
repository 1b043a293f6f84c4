package tui

import (
	"testing"
	"time"

	"callgate/internal/protocol"
	"callgate/internal/tui/approvals"
	"callgate/llm"
	"callgate/tool"
)

func TestPermissionModes(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.wantHidden("plan ·", "accept-edits ·")
		for _, want := range []protocol.PermissionMode{protocol.ModeAcceptEdits, protocol.ModePlan, protocol.ModeAsk} {
			h.press("shift+tab")
			if got := h.kernel.about.Permissions; got.Mode != want || got.By != "me" {
				t.Errorf("the permissions are %v, want the mode %s", got, want)
			}
			h.wantShown(string(want) + ": ")
		}
		h.typeText("/plan\n")
		h.wantShown("plan · 0/1k tokens", "plan: nothing that changes anything runs")
		h.typeText("/plan\n/mode accept-edits\n")
		h.wantShown("accept-edits · 0/1k tokens")
		h.typeText("/allow shell: go test *\n")
		h.wantShown("allowed in this conversation: shell: go test *")
		h.typeText("/mode\n")
		h.wantShown("▸ accept-edits", "allowed       shell: go test *")
		h.kernel.strict = tool.Errorf("gate", tool.Denied, "only a human may")
		h.press("shift+tab")
		h.wantShown("only a human may", "accept-edits · 0/1k tokens")
	})
	runChat(t, func(k *scriptedKernel, _ *Options) { k.about.Permissions.Mode = protocol.ModePlan }, func(h *harness) {
		h.wantShown("plan · 0/1k tokens")
	})
}

// The time for which a human was asked is not the call's.
func TestHumansTimeIsNotTheCalls(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("go\n")
		call := agentCall("c1", "shell__bash", "{}")
		h.emit(callEvent(call), approvalEvent(call, "{}"))
		h.advance(40 * time.Second)
		h.wantHidden("40 s\n")
		h.post(approvals.Answered{Call: "c1"})
		h.do(noticeMsg("answered"))
		h.advance(2 * time.Second)
		h.emit(resultEvent(call, tool.Success, "done"), endEvent(protocol.EndDone))
		h.wantShown("✓ shell.bash · 2.0 s")
	})
}

// What the model is told of a mode is not what the user needs to read of it. A command's
// answer is in sight, wherever the transcript stands.
func TestModeIsToldInShort(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("go\n")
		note := llm.TextMessage(llm.User, "<note>\nPERMISSION MODE plan: the user wants a plan first.\n</note>")
		h.emit(protocol.TurnEvent{Event: &protocol.HistoryEvent{Type: protocol.EventNote, Message: &note}},
			endEvent(protocol.EndDone))
		h.wantShown("permission mode: plan")
		h.wantHidden("PERMISSION MODE", "wants a plan first")
		h.typeText("/help\n")
		h.wantShown("/help       what can be done here", "more below")
		h.typeText("/mode\n")
		h.wantShown("as the rules say", "No mode lets a call run")
		h.wantHidden("more below")
	})
}
