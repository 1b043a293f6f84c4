package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"callgate/internal/agent"
	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// A conversation that the provider refuses as too long is compacted and sent again,
// once for each request.
func TestOverflowIsCompactedOnce(t *testing.T) {
	t.Parallel()
	tooLong := fails(&llm.Error{Kind: llm.ContextOverflow, Provider: "p", Message: "210000 tokens"})
	shrink := func(c *history.Compaction, err error) func(*agent.Config) {
		return func(cfg *agent.Config) {
			cfg.CompactOverflow = func(
				_ context.Context, system string, messages []llm.Message,
			) (*history.Compaction, error) {
				if system != "be brief" || len(messages) == 0 {
					return nil, errors.New("no system prompt or no messages")
				}
				return c, err
			}
		}
	}
	short := &history.Compaction{Summary: "so far", Kept: 1}
	unfit := tool.Errorf("x", tool.Invalid, "the system prompt is too long")
	for name, c := range map[string]struct {
		change  func(*agent.Config)
		answers []answer
		reason  history.Reason
		asked   int
		has     string
	}{
		"compacted, it fits": {shrink(short, nil), []answer{tooLong, says("ok")},
			history.Done, 2, "user: so far\nuser: go\nassistant: ok"},
		"once for each request": {shrink(short, nil), []answer{tooLong, says("a", `look {}`), tooLong, says("b")},
			history.Done, 4, "assistant: b"},
		"still too long": {shrink(short, nil), []answer{tooLong, tooLong, says("never")},
			history.Failed, 2, "still does after it was made shorter: p: context overflow: 210000 tokens"},
		"it cannot be compacted": {shrink(nil, unfit), []answer{tooLong, says("never")},
			history.Failed, 1, "the system prompt is too long"},
		"nothing to leave out": {shrink(nil, nil), []answer{tooLong, says("never")},
			history.Failed, 1, "nothing to leave out"},
		"without compaction": {nil, []answer{tooLong, says("never")},
			history.Failed, 1, "shorten the conversation"},
	} {
		f := setup(t, c.change, c.answers...)
		end := f.say(t, "go")
		text := transcript(f.log)
		if end.Reason != c.reason || len(f.model.asked) != c.asked || !strings.Contains(text+end.Error, c.has) {
			t.Errorf("%s: asked %d times, %+v\n%s", name, len(f.model.asked), end, text)
		}
	}
}

// The history holds which call waits for which approval, so compaction knows it.
func TestWaitingApprovalsAreInTheHistory(t *testing.T) {
	t.Parallel()
	f := setup(t, nil, says("", `ask {}`, `look {}`), says("ok"))
	f.tools.run = func(_ context.Context, c history.Call) *tool.Result {
		if c.Name == "ask" {
			return &tool.Result{Status: tool.Waiting, Summary: "waits", Approval: "ap7"}
		}
		return &tool.Result{Status: tool.Success, Summary: "seen"}
	}
	f.say(t, "go")
	again, err := history.Open(t.Context(), f.store, "conv")
	if err != nil {
		t.Fatal(err)
	}
	again.View(func(s *history.State) {
		if w := s.Origins[2].WaitsForApproval; len(w) != 1 || w["m0"] != "ap7" {
			t.Errorf("it waits for %v", w)
		}
	})
}
