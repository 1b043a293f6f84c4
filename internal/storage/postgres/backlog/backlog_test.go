package backlog_test

import (
	"context"
	"os"
	"testing"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/lock"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/backlog"
	"callgate/internal/storage/postgres/locks"
	"callgate/internal/storage/postgres/postgrestest"
	"callgate/internal/task"
	"callgate/tool"
)

var server postgrestest.Server

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

func open(t *testing.T, url, id string, lease time.Duration) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, postgres.Node{ID: id, Name: "the " + id, Lease: lease})
	ok(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What waits at each node is counted, and nothing of another's; the node that asks need not be the one.
func TestRead(t *testing.T) {
	t.Parallel()
	url := server.URL(t)
	a, b, lost := open(t, url, "a", time.Minute), open(t, url, "b", time.Minute), open(t, url, "lost", time.Minute)
	now := time.Now()
	for id, at := range map[string]time.Time{"due": now.Add(-time.Hour), "later": now.Add(time.Hour), "at once": {}} {
		_, _, err := a.Stores().Tasks.Create(t.Context(), task.Task{ID: id, Kind: "call", RunAt: at})
		ok(t, err)
	}
	_, _, err := a.Stores().Tasks.Create(t.Context(), task.Task{
		ID: "over", Kind: "call", Outcome: &task.Outcome{State: task.Done},
	})
	ok(t, err)
	for _, id := range []string{"p", "q"} {
		ok(t, lost.Stores().Approvals.Create(t.Context(), approval.Request{ID: id, State: approval.Pending, AskedAt: now}))
	}
	_, err = lost.Stores().Approvals.Settle(t.Context(), "q", approval.Pending, approval.Denied, nil)
	ok(t, err)
	acquire := func(db *postgres.DB, claims ...tool.Claim) {
		table := locks.Open(locks.OptionsOf(db.DB))
		t.Cleanup(func() { ok(t, table.Close(context.WithoutCancel(t.Context()))) })
		hold, err := table.Acquire(t.Context(), lock.Request{Claims: claims, Holder: lock.Holder{Call: "c1"}}, locks.Watch{})
		ok(t, err)
		t.Cleanup(func() { hold.Release(nil) })
	}
	acquire(b, tool.Claim{Resource: "account:ada", Mode: tool.X}, tool.Claim{Resource: "account:bob", Mode: tool.S})
	found, err := backlog.Read(t.Context(), b.DB)
	ok(t, err)
	if got := found["a"]; got.Tasks != 3 || got.Due != 2 || got.OldestDue < time.Hour || got.Approvals != 0 {
		t.Errorf("at a there waits %+v", got)
	}
	if got := found["b"]; got != (backlog.Node{ID: "b", Locks: 2}) {
		t.Errorf("at b there waits %+v", got)
	}
	if got := found["lost"]; got != (backlog.Node{ID: "lost", Approvals: 1}) {
		t.Errorf("at the third there waits %+v", got)
	}
}
