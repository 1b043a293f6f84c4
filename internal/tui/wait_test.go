package tui

import (
	"testing"
	"time"

	"callgate/internal/protocol"
	"callgate/llm"
)

// A wait for the provider is shown, and what it replaces is gone. An answer that the limit
// of tokens cut off goes on in its place.
func TestWaitsAndCutAnswers(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("go\n")
		h.emit(textEvent("Half of an"), protocol.TurnEvent{Wait: &llm.Retry{
			Attempt: 2, At: h.opt.Now().Add(32 * time.Second), Kind: llm.RateLimited, Why: "rate limited", Replaces: true,
		}})
		h.wantShown("rate limited; trying again in 32 s (attempt 2)")
		h.wantHidden("Half of an")
		h.wantShown("the model is asked again in 32 s; esc stops it")
		h.advance(10 * time.Second)
		h.wantShown("the model is asked again in 22 s")
		h.emit(protocol.TurnEvent{Wait: &llm.Retry{
			Attempt: 3, At: h.opt.Now().Add(time.Minute), Kind: llm.RateLimited, Why: "rate limited: try later.",
		}})
		h.wantShown("rate limited: try later; trying again in 60 s (attempt 3)") // one note for waits without a break
		h.wantHidden("(attempt 2)")
		said := llm.TextMessage(llm.Assistant, "The answer is fo")
		h.emit(textEvent("The answer is fo"), protocol.TurnEvent{Event: &protocol.HistoryEvent{
			Type: protocol.EventAssistant, Message: &said, Cut: &protocol.AnswerCut{Why: "length", Note: "go on"},
		}}, textEvent("rty-two"))
		h.wantShown("The answer is forty-two", "working; esc stops it")
		h.wantHidden("is asked again")
		said = llm.TextMessage(llm.Assistant, "rty-two")
		h.emit(protocol.TurnEvent{Event: &protocol.HistoryEvent{
			Type: protocol.EventAssistant, Message: &said, Cut: &protocol.AnswerCut{Why: "stopped"},
		}}, endEvent(protocol.EndCancelled))
		h.wantShown("the answer was stopped here")
	})
}
