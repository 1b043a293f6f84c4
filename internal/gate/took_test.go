package gate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/tool"
)

// What a call took is what its tool took, without the time for which a human was asked.
func TestTookIsTheToolsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, gate.Limits{})
		h.add(t, "t:slow@1.0.0", `{"type":"object"}`, asks, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
			<-time.After(3 * time.Second)
			return tool.OK("did it", nil)
		})
		done := make(chan *tool.Result)
		go func() { done <- h.call(t, "t.slow", `{}`) }()
		<-time.After(2 * time.Minute)
		pending, err := h.Approvals.List(t.Context(), approval.Pending, 0)
		ok(t, err)
		human := approval.Credential{Key: humanKey, By: "ada", PID: approval.Unknown}
		ok(t, h.Approvals.Answer(t.Context(), human, pending[0].ID, approval.Answer{Approve: true}))
		r := <-done
		if r.Took != 3*time.Second {
			t.Errorf("the result says %v", r.Took)
		}
		records, err := h.Journal.Read(t.Context(), journal.Query{Call: r.Call, Kind: journal.Ended})
		ok(t, err)
		if len(records) != 1 || records[0].End.Took != 3*time.Second {
			t.Errorf("the journal says %+v", records)
		}
	})
}
