package doctor_test

import (
	"strings"
	"testing"
	"time"

	"callgate/internal/cli/doctor"
	"callgate/internal/protocol/operations"
)

func TestNodes(t *testing.T) {
	t.Parallel()
	if checks := doctor.Nodes(nil); checks != nil {
		t.Errorf("a kernel alone: %v", checks)
	}
	for name, tt := range map[string]struct {
		change func(a, b *operations.Node)
		want   string // "": nothing is wrong
	}{
		"both are well": {func(a, b *operations.Node) { b.Health.ClockAhead = -time.Second }, ""},
		"one is gone":   {func(_, b *operations.Node) { b.State, b.Version, b.LeaseLeft = "down", "0.0.1", 0 }, ""},
		"one is lost": {func(_, b *operations.Node) {
			b.State, b.Lag, b.LeaseLeft = "lost", time.Hour, 0
			b.Backlog = operations.NodeBacklog{Approvals: 1, Tasks: 3, Conversations: 2}
		}, "beta is lost: its last heartbeat was 1h0m0s ago, and 1 approval, 3 tasks, 2 conversations wait for it"},
		"the database is slow": {func(a, _ *operations.Node) { a.Health.RoundTrip = 700 * time.Millisecond },
			"alpha waits 700ms for an answer"},
		"a heartbeat is late": {func(_, b *operations.Node) { b.Lag, b.LeaseLeft = 9*time.Second, 6*time.Second },
			"the last heartbeat of beta was 9s ago"},
		"clocks differ": {func(a, b *operations.Node) {
			a.Health.ClockAhead, b.Health.ClockAhead = 90*time.Minute, -30*time.Minute
		}, "the clock of alpha is 2h0m0s ahead of that of beta"},
		"a node without a key": {func(_, b *operations.Node) { b.Health.Signs = "" }, "beta has no key of the cluster"},
		"versions differ":      {func(_, b *operations.Node) { b.Version = "0.3.0" }, "different versions: 0.2.0, 0.3.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := operations.Node{State: "up", Version: "0.2.0", Lag: time.Second, LeaseLeft: 14 * time.Second}
			one.Health.Signs = "0a1b2c3d4e5f6071"
			a, b := one, one
			a.Name, b.Name = "alpha", "beta"
			tt.change(&a, &b)
			checks := doctor.Nodes([]operations.Node{a, b})
			if len(checks) != 1 || (checks[0].State == doctor.OK) != (tt.want == "") || !strings.Contains(checks[0].Fix, tt.want) {
				t.Errorf("got %+v, want %q", checks, tt.want)
			}
		})
	}
}
