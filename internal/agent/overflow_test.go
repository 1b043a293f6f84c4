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

// A conversation that the provider finds too long is made shorter and sent
// again, once for each request.
func TestTooLongForTheProvider(t *testing.T) {
	tooLong := fails(&llm.Error{Kind: llm.ContextOverflow, Provider: "p", Message: "210000 tokens"})
	shrink := func(c *history.Compaction, err error) func(*agent.Config) {
		return func(cfg *agent.Config) {
			cfg.CompactOverflow = func(_ context.Context, system string, messages []llm.Message) (*history.Compaction, error) {
				if system != "be brief" || len(messages) == 0 {
					return nil, errors.New("it was not told what is too long")
				}
				return c, err
			}
		}
	}
	short := &history.Compaction{Summary: "so far", Kept: 1}
	for name, c := range map[string]struct {
		change  func(*agent.Config)
		answers []answer
		reason  history.Reason
		asked   int
		has     string
	}{
		"shorter, it does":          {shrink(short, nil), []answer{tooLong, says("ok")}, history.Done, 2, "user: so far\nuser: go\nassistant: ok"},
		"each request has one":      {shrink(short, nil), []answer{tooLong, says("a", `look {}`), tooLong, says("b")}, history.Done, 4, "assistant: b"},
		"still too long":            {shrink(short, nil), []answer{tooLong, tooLong, says("never")}, history.Failed, 2, "still does after it was made shorter: p: context overflow: 210000 tokens"},
		"it cannot be made shorter": {shrink(nil, tool.Errorf("x", tool.Invalid, "the system prompt is too long")), []answer{tooLong, says("never")}, history.Failed, 1, "the system prompt is too long"},
		"nothing to leave out":      {shrink(nil, nil), []answer{tooLong, says("never")}, history.Failed, 1, "nothing to leave out"},
		"nobody shortens":           {nil, []answer{tooLong, says("never")}, history.Failed, 1, "shorten the conversation"},
	} {
		f := setup(t, c.change, c.answers...)
		end := f.say(t, "go")
		if end.Reason != c.reason || len(f.model.asked) != c.asked || !strings.Contains(transcript(f.log)+end.Error, c.has) {
			t.Errorf("%s: asked %d times, %+v\n%s", name, len(f.model.asked), end, transcript(f.log))
		}
	}
}

// What a call waits for is in the log, and so is known when messages are left
// out.
func TestQuestionsAreKnown(t *testing.T) {
	f := setup(t, nil, says("", `ask {}`, `look {}`), says("ok"))
	f.tools.run = func(_ context.Context, c history.Call) *tool.Result {
		if c.Name == "ask" {
			return &tool.Result{Status: tool.Waiting, Summary: "waits", Approval: "ap7"}
		}
		return &tool.Result{Status: tool.Success, Summary: "seen"}
	}
	f.say(t, "go")
	again, err := history.Open(t.Context(), f.store, "talk")
	if err != nil {
		t.Fatal(err)
	}
	again.View(func(s *history.State) {
		if w := s.Origins[2].WaitsForApproval; len(w) != 1 || w["m0"] != "ap7" {
			t.Errorf("it waits for %v", w)
		}
	})
}
