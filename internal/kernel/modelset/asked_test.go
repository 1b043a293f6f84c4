package modelset

import (
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/provider"
	"callgate/llm"
)

// What a model was asked on a day ends with the day; what it was asked in all does not.
func TestTodayEndsAtMidnight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o Opener
		ask := func(priced bool) {
			o.asked.add(provider.Info{Provider: "p", Model: "m"}, llm.Usage{Input: 100, Output: 10, Cost: 7, Priced: priced}, nil, 0)
		}
		wants := func(requests, unpriced uint64, cost int64, all uint64) {
			t.Helper()
			got := o.Asked()[0]
			if d := got.Today; d.Requests != requests || d.Unpriced != unpriced || d.Usage.Cost != cost || got.Took.Count != all {
				t.Errorf("today %+v, and %d in all", got.Today, got.Took.Count)
			}
		}
		ask(true)
		ask(false)
		wants(2, 1, 14, 2)
		<-time.After(24 * time.Hour)
		wants(0, 0, 0, 2)
		ask(true)
		wants(1, 0, 7, 3)
	})
}
