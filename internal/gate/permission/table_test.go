package permission_test

import (
	"testing"

	"callgate/internal/gate/permission"
)

// A session that has its permissions from another one and outlives it may not do more
// than before: plan mode stays, and what was allowed goes.
func TestWhatOutlivesASessionStaysAsStrict(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode, began, want permission.Mode
		unattended        bool
	}{
		{permission.Plan, permission.Plan, permission.Plan, false},
		{permission.Plan, permission.Ask, permission.Plan, true},
		{permission.AcceptEdits, permission.Ask, permission.Ask, false},
		{permission.Ask, permission.Plan, permission.Ask, true}, // the user left plan mode meanwhile
		{permission.Ask, permission.Plan, permission.Ask, false},
		{"", permission.Plan, permission.Plan, false}, // of an earlier kernel
	} {
		table := permission.NewTable(nil)
		table.Inherit("task", "chat", test.began)
		if test.mode != "" {
			table.Change("chat", func(s permission.State) permission.State {
				s.Mode, s.Unattended = test.mode, test.unattended
				return s
			})
			if got := table.Of("task").Mode; got != test.mode {
				t.Errorf("%+v: with its session %s", test, got)
			}
			table.End("chat")
		}
		if got := table.Of("task"); got.Mode != test.want || got.Unattended != test.unattended || len(got.Allow) > 0 {
			t.Errorf("%+v: after its session %+v", test, got)
		}
		table.Change("chat", func(s permission.State) permission.State { s.Mode = permission.AcceptEdits; return s })
		if got := table.Of("task").Mode; got != permission.AcceptEdits {
			t.Errorf("%+v: opened again, %s", test, got)
		}
		table.End("task")
		if got := table.Of("task"); got.Mode != permission.Ask {
			t.Errorf("%+v: after its end %+v", test, got)
		}
	}
}
