package agent_test

import (
	"slices"
	"testing"

	"callgate/internal/agent"
	"callgate/internal/conversation/history"
	"callgate/llm"
)

// What a provider could not read as a call, and gives back with its refusal, is read here.
// Only tools that were offered count, a strict loop refuses them, and anything else stays
// the failure that it was.
func TestFailedGenerationIsRecovered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failed string
		strict bool
		kind   llm.Kind
		made   []string
		reason history.Reason
	}{
		"a call":         {"sure <call look>", false, llm.FailedGeneration, []string{"look {}"}, history.Done},
		"strict":         {"<call look>", true, llm.FailedGeneration, nil, history.Done},
		"not offered":    {"<call wipe>", false, llm.FailedGeneration, nil, history.Failed},
		"no call":        {"look around", false, llm.FailedGeneration, nil, history.Failed},
		"nothing":        {"", false, llm.FailedGeneration, nil, history.Failed},
		"something else": {"<call look>", false, llm.Billing, nil, history.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, func(cfg *agent.Config) { cfg.Model.Detector, cfg.Strict = callParser{}, c.strict },
				fails(&llm.Error{Kind: c.kind, Failed: c.failed}), says("done"))
			if end := f.say(t, "go"); end.Reason != c.reason || !slices.Equal(f.tools.made, c.made) {
				t.Errorf("%+v, made %q\n%s", end, f.tools.made, transcript(f.log))
			}
		})
	}
}
