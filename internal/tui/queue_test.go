package tui

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

// takenEvent says that the turn took queued words.
func takenEvent(id int64, text string) protocol.TurnEvent {
	m := llm.TextMessage(llm.User, text)
	return protocol.TurnEvent{Event: &protocol.HistoryEvent{Type: protocol.EventUser, Message: &m, Queued: id}}
}

func TestWordsDuringATurnAreQueued(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("one\n")
		h.emit(textEvent("I begin."))
		h.typeText("two\nthree\n")
		h.wantShown("queued: two", "queued: three  (up takes it back)", "working; esc stops it", "> say what to do")
		h.press("up")
		h.wantHidden("queued: three")
		if got := h.composer.Text(); got != "three" || len(h.kernel.queued) != 1 {
			t.Errorf("the field holds %q, the kernel %v", got, h.kernel.queued)
		}
		h.emit(takenEvent(1, "two"), textEvent("I heard."))
		h.wantShown("I begin.\n\n> two\n\nI heard.")
		h.wantHidden("queued")
		h.emit(endEvent(protocol.EndDone))
		if d := cmp.Diff([]string{"one"}, h.kernel.said); d != "" {
			t.Error(d)
		}
	})
}

// Words that a stopped turn did not take return to the composer, before what is
// being written.
func TestQueuedWordsReturn(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("one\ntwo\nthree\n")
		h.typeText("a draft")
		h.press("esc")
		end := endEvent(protocol.EndCancelled)
		end.End.Returned = h.kernel.queued
		h.emit(end)
		if got := h.composer.Text(); got != "two\nthree\na draft" {
			t.Errorf("the field holds %q", got)
		}
		h.wantHidden("queued")
	})
}

// Without a word of the kernel about them, too: its connection may be lost.
func TestQueuedWordsReturnWhenTheKernelIsLost(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("one\ntwo\n")
		close(h.events)
		h.settle()
		if got := h.composer.Text(); got != "two" {
			t.Errorf("the field holds %q", got)
		}
	})
	runChat(t, nil, func(h *harness) {
		h.kernel.deaf = tool.Errorf("client", tool.Unavailable, "the kernel cannot be reached")
		h.typeText("one\ntwo\n")
		h.wantShown("the kernel cannot be reached")
		if got := h.composer.Text(); got != "two" {
			t.Errorf("the field holds %q", got)
		}
	})
}

// Words that came too late for a turn begin the next one.
func TestWordsTooLateForATurn(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.kernel.tooLate = true
		h.typeText("one\ntwo\n")
		h.emit(endEvent(protocol.EndDone))
		if d := cmp.Diff([]string{"one", "two"}, h.kernel.said); d != "" {
			t.Error(d)
		}
		h.wantShown("> one", "> two", "working")
	})
}

func TestStoppingTurnTakesNothing(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("one\n")
		h.press("esc")
		h.typeText("two\n")
		if got := h.composer.Text(); got != "two" || len(h.kernel.queued) != 0 {
			t.Errorf("the field holds %q, the kernel %v", got, h.kernel.queued)
		}
	})
}
