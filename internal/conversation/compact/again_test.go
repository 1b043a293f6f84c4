package compact_test

import (
	"fmt"
	"slices"
	"testing"

	"callgate/internal/conversation/compact"
	"callgate/llm"
)

// TestBeginsAgain is FACTS 3.9, defect 12: what was compacted is judged by its size now. A conversation that
// was compacted is left alone below the trigger, and compacted again at it, however often that was before.
func TestBeginsAgain(t *testing.T) {
	for name, strategy := range map[string]compact.Strategy{"truncate": compact.Truncate, "summarize": compact.Summarize} {
		policy := compact.Policy{Window: 12_000, OutputReserved: 2000, Strategy: strategy} // begins at 7,500
		messages := chat(8, 1000)
		for round := range 5 {
			c, err := policy.Compact(t.Context(), compact.Input{Messages: messages}, &writer{text: words(200)})
			if err != nil || c == nil {
				t.Fatalf("%s: round %d: %+v, %v", name, round, c, err)
			}
			if c.After >= 5_001 || c.After >= c.Before {
				t.Errorf("%s: round %d: %d tokens became %d", name, round, c.Before, c.After)
			}
			messages = append(
				[]compact.Message{{Message: llm.TextMessage(llm.User, c.Summary), Kind: compact.Summary}},
				messages[len(messages)-c.Kept:]...)
			// What is left fits, so a second time declines, and for that reason.
			if plan, err := policy.Plan(compact.Input{Messages: messages}); plan != nil || err != nil {
				t.Errorf("%s: round %d: compacted again at once: %+v, %v", name, round, plan, err)
			}
			messages = append(messages, chat(6, 1000)...)
		}
	}
}

// TestPairsStayTogether has no plan, at any size of a conversation of calls, keep a result without its call or
// leave out a result whose call is kept.
func TestPairsStayTogether(t *testing.T) {
	for _, strategy := range []compact.Strategy{compact.Truncate, compact.Summarize} {
		for keep := range 9 {
			for n := range 24 {
				policy := compact.Policy{Window: 12_000, OutputReserved: 2000, Strategy: strategy, KeepRecent: keep}
				messages := slices.Concat(chat(2, 900), []compact.Message{user("x")}, loop(n, 600), []compact.Message{user("y")})
				plan, err := policy.Plan(compact.Input{Messages: messages})
				if err != nil {
					t.Fatal(err)
				}
				if plan == nil {
					continue
				}
				calls, results := map[string]bool{}, map[string]bool{}
				for i, m := range messages {
					if i < len(messages)-plan.Kept && !slices.Contains(plan.Pinned, i) {
						continue
					}
					for _, p := range m.Parts {
						if p.Call != nil {
							calls[p.Call.ID] = true
						}
						if p.Result != nil {
							results[p.Result.ID] = true
						}
					}
				}
				if fmt.Sprint(calls) != fmt.Sprint(results) {
					t.Errorf("%v, keep %d, %d calls: the calls %v are kept and the results %v", strategy, keep, n, calls, results)
				}
			}
		}
	}
}
