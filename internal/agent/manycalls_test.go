package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"callgate/internal/agent"
	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// The calls beyond what one answer may make are refused in the same write as the answer:
// if the process is killed after it, the resumed turn makes none of them.
func TestCallsBeyondTheLimitAreRefusedWithTheAnswer(t *testing.T) {
	t.Parallel()
	var calls []string
	for i := range 131 {
		calls = append(calls, fmt.Sprintf(`look {"n":%d}`, i))
	}
	f := setup(t, nil, says("", calls...), says("done"))
	open, refused := -1, 0
	end, err := f.Turn(t.Context(), llm.TextMessage(llm.User, "go"), agent.Observer{
		Event: func(e history.Event) {
			if e.Type == history.Assistant && open < 0 {
				f.log.View(func(s *history.State) { proposed, _ := s.OpenCalls(); open = len(proposed) })
			}
		},
		Ended: func(_ history.Call, r *tool.Result) {
			if r.Status == tool.Refused {
				refused++
			}
		},
	})
	if err != nil || end.Reason != history.Done || len(f.tools.made) != 128 || refused != 3 {
		t.Errorf("%+v, %v: %d made, %d refused", end, err, len(f.tools.made), refused)
	}
	if open != 128 {
		t.Errorf("%d calls are open when the answer is on record", open)
	}
	if text := transcript(f.log); strings.Count(text, "at most 128 calls") != 3 || strings.Count(text, "(look: did look)") != 128 {
		t.Error(text)
	}
}
