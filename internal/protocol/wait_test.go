package protocol_test

import (
	"testing"
	"time"

	"callgate/internal/protocol"
	"callgate/llm"
)

func TestWaitText(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := llm.Retry{Attempt: 2, At: now.Add(31500 * time.Millisecond), Kind: llm.RateLimited, Why: "rate limited"}
	for want, wait := range map[string]llm.Retry{
		"rate limited; trying again in 32 s (attempt 2)": r,
		"broken stream: the response ended too early; trying again in 0 s (attempt 3); the answer so far is replaced": {
			Attempt: 3, At: now.Add(-time.Second), Why: "broken stream: the response ended too early", Replaces: true,
		},
	} {
		if got := protocol.WaitText(wait, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
